-- date as a key
SELECT date, DATE '2024-01-01' AS d, CAST(window.start AS date) AS c, date(window.start) AS e, window.start::date AS f, max(day) AS m FROM odd GROUP BY date, window(ts, '2 hours', '1 hour') HAVING date >= DATE '2024-01-01'

-- day as a key
SELECT day, INTERVAL 1 day AS i, window.start + INTERVAL 2 day AS t, dateadd(day, 1, window.start) AS d, extract(day FROM window.start) AS e, day(window.start) AS f, count(*) AS c FROM odd GROUP BY day, window(ts, '2 hours', '1 hour')

-- hour as a key
SELECT hour, extract(hour FROM window.start) AS h, hour(window.start) AS i, date_trunc('hour', window.start) AS t, INTERVAL '1' hour AS one, window.start + INTERVAL '1' hour AS later, count(*) AS c FROM odd GROUP BY hour, window(ts, '2 hours', '1 hour')

-- int as a key
SELECT int, CAST(max(day) AS int) AS a, int(max(day)) AS b, max(day)::int AS c, int + 1 AS d FROM odd GROUP BY int, window(ts, '2 hours', '1 hour')

-- string as a key
SELECT string, CAST(count(*) AS string) AS a, string(count(*)) AS b, string || 'x' AS c, count(*)::string AS d FROM odd GROUP BY string, window(ts, '2 hours', '1 hour')

-- timestamp as a key
SELECT timestamp, TIMESTAMP '2024-01-01 00:00:00' AS a, CAST(max(date) AS timestamp) AS b, timestamp(max(date)) AS c, count(*) AS n FROM odd GROUP BY timestamp, window(timestamp, '2 hours', '1 hour')

-- double and boolean as keys
SELECT double, boolean, CAST(max(day) AS double) AS a, CAST(min(day) AS boolean) AS b, double(count(*)) AS c FROM odd GROUP BY double, boolean, window(ts, '2 hours', '1 hour')

-- minute and year as keys
SELECT minute, year, year(window.start) AS y, minute(window.end) AS m, timestampdiff(minute, window.start, window.end) AS d, make_interval(minute) AS i, count(*) AS c FROM odd GROUP BY minute, year, window(ts, '2 hours', '1 hour')

-- keywords as keys
SELECT `select`, `order`, `group`, `key`, count(*) AS `from`, max(`group`) AS `where` FROM odd GROUP BY `select`, `order`, `group`, `key`, window(ts, '2 hours', '1 hour') HAVING `from` > 0 AND `where` < 9

-- start and end as keys
SELECT start, `end`, window.start AS since, window.end AS until, window, count(*) AS c FROM odd GROUP BY start, `end`, window(ts, '2 hours', '1 hour') HAVING start > 0 AND window.end > '2024-03-10'

-- begin, node and lane as keys
SELECT begin, node, lane, begin + 1 AS more, window, count(*) AS c FROM odd GROUP BY begin, node, lane, window(ts, '2 hours', '1 hour') HAVING begin >= 1 AND node <> 'd1'

-- k0, k1 and a0 as keys
SELECT k1, k0, a0, k0 || 'x' AS x, window, count(*) AS c, sum(a0) AS s FROM odd GROUP BY k1, k0, a0, window(ts, '2 hours', '1 hour') HAVING k0 <> 'd1' AND a0 > 1

-- names that are made for keys and aggregates
SELECT `_k0`, `_a0`, upper(`_k0`) AS u, max(`_a0`) AS m, count(*) AS c FROM odd GROUP BY `_k0`, `_a0`, upper(`_k0`), window(ts, '2 hours', '1 hour')

-- i0, f0, c0 and c0_n inside aggregates
SELECT w, max(i0) AS i0, min(f0) AS f0, sum(c0) AS c0, avg(c0_n) AS c0_n, count(*) AS a0, window AS w2 FROM odd GROUP BY w, window(ts, '2 hours', '1 hour') HAVING i0 > 1

-- w, q and query as keys
SELECT w, q, query, window, count(*) AS c FROM odd GROUP BY w, q, query, window(ts, '2 hours', '1 hour') HAVING query = 'd1'

-- bucket and muntin_part as keys
SELECT bucket, muntin_part, count(*) AS part, window FROM odd GROUP BY bucket, muntin_part, window(ts, '2 hours', '1 hour')

-- a dot in a key
SELECT `a.b`, upper(`a.b`) AS u, window, max(n) AS `c.d` FROM (SELECT *, int AS n FROM odd) GROUP BY `a.b`, window(ts, '2 hours', '1 hour') HAVING `a.b` = 'd1'

-- a backquote and a quote in a key
SELECT `back``tick`, `it's`, `it's` || `back``tick` AS b, window, max(int) AS m FROM odd GROUP BY `back``tick`, `it's`, window(ts, '2 hours', '1 hour') HAVING `it's` = 'd1'

-- another script in a key
SELECT `日本`, `日本` || '日本' AS j, window, max(int) AS m FROM odd GROUP BY `日本`, window(ts, '2 hours', '1 hour')

-- functions as keys
SELECT count, max, count(*) AS c, max(max) AS m, max(count) AS n, count + max AS s FROM odd GROUP BY count, max, window(ts, '2 hours', '1 hour')

-- aliases that are types and units [either]
SELECT string AS int, max(int) AS string, window.start AS date, count(*) AS day, window.end AS timestamp FROM odd GROUP BY string, window(ts, '2 hours', '1 hour') HAVING day > 0 AND date > '2024-01-01'

-- aliases that are names of muntin's own [either]
SELECT node AS begin, max(begin) AS node, count(*) AS k0, min(k1) AS c0, window AS bucket, max(a0) AS i0 FROM odd GROUP BY node, window(ts, '2 hours', '1 hour') HAVING k0 > 0

-- a key whose name begins with window
SELECT `window size`, window, count(*) AS c FROM odd GROUP BY `window size`, window(ts, '2 hours', '1 hour')

-- an alias called window that is no window
SELECT device, max(n) AS window FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- value as a key
SELECT value, window, count(*) AS c, value * 2 AS v FROM odd GROUP BY value, window(ts, '2 hours', '1 hour')
