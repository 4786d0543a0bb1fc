-- null keys
SELECT device, n, window, count(*) AS c FROM readings GROUP BY device, n, window(ts, '2 hours', '1 hour')

-- upper
SELECT upper(device) AS u, window, count(*) AS c FROM readings GROUP BY upper(device), window(ts, '2 hours', '1 hour')

-- a remainder [either]
SELECT n % 3 AS third, n % 3 + 1 AS next, window, count(*) AS c FROM readings GROUP BY n % 3, window(ts, '2 hours', '1 hour')

-- a remainder in brackets
SELECT (n % 3) AS third, (n % 3) * 2 AS twice, window, count(*) AS c FROM readings GROUP BY n % 3, window(ts, '2 hours', '1 hour')

-- a day
SELECT date(ts) AS d, window, count(*) AS c FROM readings GROUP BY date(ts), window(ts, '2 hours', '1 hour')

-- a day by a cast
SELECT CAST(ts AS DATE) AS d, window, count(*) AS c FROM readings GROUP BY CAST(ts AS DATE), window(ts, '2 hours', '1 hour')

-- a day by a cast with colons
SELECT ts::date AS d, window, count(*) AS c FROM readings GROUP BY ts::date, window(ts, '2 hours', '1 hour')

-- a part of the time
SELECT extract(HOUR FROM ts) AS h, window, count(*) AS c FROM readings GROUP BY extract(HOUR FROM ts), window(ts, '2 hours', '1 hour')

-- a comparison
SELECT n > 3 AS high, window, count(*) AS c FROM readings GROUP BY n > 3, window(ts, '2 hours', '1 hour')

-- two columns and their sum
SELECT n, load, n + load AS s, n + load * 2 AS t, window, count(*) AS c FROM readings GROUP BY n, load, n + load, window(ts, '2 hours', '1 hour')

-- a sum alone [either]
SELECT n + load, n + load + 1 AS more, window, count(*) AS c FROM readings GROUP BY n + load, window(ts, '2 hours', '1 hour')

-- a concatenation
SELECT device || '-' || state AS id, window, count(*) AS c FROM readings GROUP BY device || '-' || state, window(ts, '2 hours', '1 hour')

-- doubles with NaN
SELECT x, window, count(*) AS c FROM readings GROUP BY x, window(ts, '2 hours', '1 hour')

-- zeros of both signs
SELECT z, window, count(*) AS c FROM (SELECT ts, if(alarm, 0D, -0D) AS z FROM readings) GROUP BY z, window(ts, '2 hours', '1 hour')

-- decimals, booleans, instants
SELECT price, alarm, ts, local, count(*) AS c FROM readings GROUP BY price, alarm, ts, local, window(ts, '2 hours', '1 hour')

-- bytes
SELECT CAST(device AS BINARY) AS b, window, count(*) AS c FROM readings GROUP BY CAST(device AS BINARY), window(ts, '2 hours', '1 hour')

-- text under a collation
SELECT device COLLATE UTF8_LCASE AS d, window, count(*) AS c FROM (SELECT ts, if(alarm, upper(device), device) COLLATE UTF8_LCASE AS device FROM readings) GROUP BY device COLLATE UTF8_LCASE, window(ts, '2 hours', '1 hour') HAVING count(*) > 1

-- an interval
SELECT i, window, count(*) AS c FROM (SELECT ts, make_dt_interval(0, n) AS i FROM readings) GROUP BY i, window(ts, '2 hours', '1 hour')

-- keys in another order
SELECT load, device, window, count(*) AS c FROM readings GROUP BY load, device, window(ts, '2 hours', '1 hour')

-- a key that looks like an aggregate [either]
SELECT `count(1)`, window, count(1) AS c FROM (SELECT ts, device AS `count(1)` FROM readings) GROUP BY `count(1)`, window(ts, '2 hours', '1 hour')
