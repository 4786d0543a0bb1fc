-- an aggregate
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING max(n) > 3

-- an aggregate that is not selected
SELECT device, window FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING count(*) > 2 AND min(n) < 3

-- an alias
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING m > 3

-- an alias in another case
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING M > 3

-- an alias in backquotes
SELECT device, window, max(n) AS `most of it` FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING `most of it` > 3

-- an alias that is also a column of the table
SELECT device, window, max(n) AS n FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING n > 3

-- an alias that is also a column, inside an aggregate
SELECT device, window, sum(load) AS n FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING max(n) > 3

-- an alias of an expression
SELECT device, window, max(n) - min(n) AS spread, CASE WHEN count(*) > 2 THEN 'many' ELSE 'few' END AS size FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING spread > 2 AND size = 'many'

-- bounds of the window
SELECT device, window, count(*) AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING window.start >= '2024-03-10 03:00:00' AND window.end < timestamp '2024-11-03 12:00:00'

-- the start by its alias
SELECT device, window.start AS since, count(*) AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING since < '2024-06-01'

-- the start by the name that it has without an alias
SELECT device, window.start, count(*) AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING start < '2024-06-01'

-- the end beside a column called end
SELECT window.end AS `end`, device, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING `end` > '2024-06-01'

-- a key
SELECT window, count(*) AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING device = 'd1'

-- a key that is null
SELECT device, window, count(*) AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING device IS NULL

-- a key with its table
SELECT device, window, count(*) AS c FROM readings AS r GROUP BY r.device, window(r.ts, '2 hours', '1 hour') HAVING r.device <> 'd1' AND max(r.n) > 1

-- an expression that is a key
SELECT upper(device) AS u, window, count(*) AS c FROM readings GROUP BY upper(device), window(ts, '2 hours', '1 hour') HAVING upper(device) LIKE 'D%' AND u <> 'D0'

-- an alias that hides a key [either]
SELECT window, lower(upper(device)) AS device, count(*) AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING device = 'd2'

-- a field of a struct by its alias
SELECT device, struct(max(n) AS top, count(*) AS c) AS s FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING s.top > 3

-- what is always true
SELECT device, window, count(*) AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING true

-- the day of the window
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING day(window.start) = 10 OR extract(hour FROM window.end) < 3

-- BETWEEN, IN and NOT
SELECT device, window, sum(n) AS s, count(*) AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING s BETWEEN 3 AND 12 AND NOT c IN (1, 2)

-- an aggregate with FILTER
SELECT device, window, count(*) AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING count(*) FILTER (WHERE n > 3) >= 1

-- a subquery [either]
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING max(n) > (SELECT avg(n) FROM readings)
