-- CASE over aggregates
SELECT device, CASE WHEN max(n) > 5 THEN 'high' WHEN max(n) > 3 THEN 'mid' ELSE 'low' END AS level FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- CASE of a key
SELECT CASE device WHEN 'd0' THEN 'zero' WHEN 'd1' THEN 'one' END AS word, window, count(*) AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- CASE as a key
SELECT CASE WHEN n > 3 THEN 'high' ELSE 'low' END AS level, window, count(*) AS c FROM readings GROUP BY CASE WHEN n > 3 THEN 'high' ELSE 'low' END, window(ts, '2 hours', '1 hour')

-- CASE inside an aggregate
SELECT device, window, sum(CASE WHEN n > 3 THEN 1 ELSE 0 END) AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- casts
SELECT device, CAST(max(n) AS STRING) AS s, CAST(avg(n) AS INT) AS i, max(n)::double AS d, string(count(*)) AS c, bigint(min(x)) AS b FROM readings WHERE NOT isnan(x) GROUP BY device, window(ts, '2 hours', '1 hour')

-- casts to decimals
SELECT device, CAST(sum(n) AS DECIMAL(12, 3)) / count(*) AS d, round(avg(n), 1) AS r FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- INTERVAL and the window
SELECT device, window.start + INTERVAL 1 DAY AS tomorrow, window.end - INTERVAL '2' HOURS AS before, window.start + INTERVAL '1 02:03' DAY TO MINUTE AS later, count(*) AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- dateadd, datediff and timestampadd
SELECT dateadd(DAY, 1, window.start) AS a, datediff(HOUR, window.start, window.end) AS b, timestampadd(MINUTE, 5, max(ts)) AS c, date_add(MONTH, 1, min(ts)) AS d FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- dateadd with a key called day
SELECT day, dateadd(day, CAST(day AS INT), window.start) AS d, INTERVAL 1 DAY AS i, extract(day FROM window.start) AS e, count(*) AS c FROM odd GROUP BY day, window(ts, '2 hours', '1 hour')

-- extract and date_part
SELECT extract(DAY FROM window.start) AS d, extract(DAYOFWEEK FROM window.end) AS w, date_part('MINUTE', max(ts)) AS m, count(*) AS c FROM readings GROUP BY window(ts, '30 minutes')

-- date_format
SELECT date_format(window.start, "yyyy-MM-dd'T'HH") AS f, date_format(window.end, 'EEEE') AS e, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- functions of text
SELECT concat(device, '-', max(n)) AS a, device || ':' || count(*) AS b, lpad(device, 5, '*') AS c, substring(device, 2) AS d, substr(device FROM 2 FOR 1) AS e, trim(BOTH 'd' FROM device) AS f, position('1' IN device) AS g, overlay(device PLACING 'X' FROM 1) AS h FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- text with quotes, marks of comments and names in it
SELECT 'max(n) -- device; ''window''' AS a, "it's `device`" AS b, r'\d' AS c, 'it\'s' AS d, '/* n */' AS e, count(*) AS c2 FROM readings WHERE device <> ';' GROUP BY device, window(ts, '2 hours', '1 hour')

-- nulls
SELECT coalesce(device, 'none') AS a, nvl(max(x), -1) AS b, nullif(count(*), 2) AS c, if(device IS NULL, 1, 0) AS d, device <=> NULL AS e, ifnull(max(n), 0) AS f FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- comparisons
SELECT device IN ('d0', 'd1') AS a, device LIKE 'd%' AS b, device RLIKE '^d[01]$' AS c, max(n) BETWEEN 2 AND 4 AS d, device IS DISTINCT FROM 'd1' AS e, NOT device = 'd0' AS f, device ILIKE ANY ('D0', 'D1') AS g FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- arithmetic
SELECT device, sum(n) / count(*) AS a, sum(n) DIV 2 AS b, sum(load) % 3 AS c, -max(n) AS d, +min(n) AS e, (max(n) - min(n)) * 2 AS f, 1 - -count(*) AS g, ~max(n) & 7 | 1 AS h, 2 * (1 + max(load)) AS i FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- lambdas whose parameters are called like keys
SELECT transform(array(1, 2), device -> device + max(n)) AS a, aggregate(array(1, 2), 0, (n, load) -> n + load) AS b, filter(array(1, 2, 3), x -> x > min(n)) AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- functions without brackets
SELECT device, current_date IS NOT NULL AS a, count(*) AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- a later item names an earlier one [either]
SELECT device, max(n) AS m, m + 1 AS more FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- an item called like a function
SELECT device, max(n) AS max, min(n) AS min, count(*) AS count, sum(n) AS sum FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING max > 3 AND count >= 1

-- a filter on everything
SELECT device, window, max(n) AS m FROM readings WHERE (n > 1 OR x IS NULL) AND NOT alarm AND state NOT IN ('3', '4') AND device IS NOT NULL GROUP BY device, window(ts, '2 hours', '1 hour')
