-- conf: spark.sql.caseSensitive=true

-- cased [table]
SELECT ts, device, if(alarm, 'A', 'B') AS DEVICE, n, load AS N, map('k', 1) AS Tags FROM readings

-- one of two keys
SELECT device, window, count(*) AS c FROM cased GROUP BY device, window(ts, '2 hours', '1 hour')

-- the other of two keys
SELECT DEVICE, window, count(*) AS c FROM cased GROUP BY DEVICE, window(ts, '2 hours', '1 hour')

-- both keys [either]
SELECT device, DEVICE, window, count(*) AS c FROM cased GROUP BY device, DEVICE, window(ts, '2 hours', '1 hour')

-- both keys, the other way round [either]
SELECT DEVICE, device, upper(DEVICE) AS u, upper(device) AS U, count(*) AS c FROM cased GROUP BY DEVICE, device, window(ts, '2 hours', '1 hour') HAVING device = 'd1' AND DEVICE = 'A'

-- both arguments [either]
SELECT device, max(n) AS m, max(N) AS M, sum(n) + sum(N) AS s FROM cased GROUP BY device, window(ts, '2 hours', '1 hour')

-- both aliases in HAVING [either]
SELECT device, max(n) AS m, max(N) AS M FROM cased GROUP BY device, window(ts, '2 hours', '1 hour') HAVING m > 3 AND M < 4

-- both in FILTER and WHERE [either]
SELECT device, count(*) FILTER (WHERE n > 2) AS a, count(*) FILTER (WHERE N > 2) AS b FROM cased WHERE n > 0 AND N > 0 GROUP BY device, window(ts, '2 hours', '1 hour')

-- aliases that swap [either]
SELECT device AS DEVICE, max(N) AS n, window FROM cased GROUP BY device, window(ts, '2 hours', '1 hour') HAVING n > 1

-- expressions of both [either]
SELECT upper(device) AS a, upper(DEVICE) AS b, count(*) AS c FROM cased GROUP BY upper(device), upper(DEVICE), window(ts, '2 hours', '1 hour')

-- keywords and functions in any case [refused]
select device, Max(n) as m, Window.start from cased group by device, window(ts, '2 hours', '1 hour')

-- a column in another case [refused]
SELECT Device, count(*) AS c FROM cased GROUP BY Device, window(ts, '2 hours', '1 hour')

-- an alias in another case [refused]
SELECT device, max(n) AS most FROM cased GROUP BY device, window(ts, '2 hours', '1 hour') HAVING MOST > 3

-- a column of another case inside an aggregate [refused]
SELECT device, sum(tags['k']) AS s FROM cased GROUP BY device, window(ts, '2 hours', '1 hour')
