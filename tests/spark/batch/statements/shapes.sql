-- a common table expression [either]
WITH hot AS (SELECT * FROM readings WHERE n > 1) SELECT device, window, max(n) AS m FROM hot GROUP BY device, window(ts, '2 hours', '1 hour')

-- two of them, one of the other [either]
WITH a AS (SELECT ts, device, n FROM readings), b AS (SELECT *, n * 2 AS twice FROM a WHERE device IS NOT NULL)
SELECT device, window.start, sum(twice) AS s FROM b GROUP BY device, window(ts, '2 hours', '1 hour')

-- a common table expression called like a table [either]
WITH readings AS (SELECT * FROM readings WHERE load = 1) SELECT readings.device, window, count(*) AS n FROM readings GROUP BY readings.device, window(ts, '2 hours', '1 hour')

-- an aggregate of a shared aggregate [either]
WITH hourly AS (SELECT device, window.start AS since, max(n) AS m FROM readings GROUP BY device, window(ts, '1 hour'))
SELECT device, window, sum(m) AS s FROM hourly GROUP BY device, window(since, '4 hours', '2 hours')

-- a subquery in FROM
SELECT device, window, avg(n) AS a FROM (SELECT * FROM readings WHERE load > 1) GROUP BY device, window(ts, '2 hours', '1 hour')

-- a subquery in FROM with a name
SELECT s.d, window, min(s.n) AS low FROM (SELECT ts, upper(device) AS d, n FROM readings) AS s GROUP BY s.d, window(s.ts, '2 hours', '1 hour')

-- a subquery in FROM with a name but no AS
SELECT t.d AS dev, count(*) FROM (SELECT ts AS at, device AS d FROM readings) t GROUP BY d, window(at, '2 hours', '1 hour')

-- an aggregate around a subquery that groups [plain]
SELECT max(c) AS most FROM (SELECT device, count(*) AS c FROM readings GROUP BY device, window(ts, '1 hour'))

-- a join
SELECT d.owner, window, sum(r.n * d.weight) AS s FROM readings r JOIN devices d ON r.device = d.device GROUP BY d.owner, window(r.ts, '2 hours', '1 hour')

-- a left join with USING
SELECT device, owner, window, count(*) AS c FROM readings LEFT JOIN devices USING (device) GROUP BY device, owner, window(ts, '2 hours', '1 hour')

-- a join that keeps null keys
SELECT r.device, d.device AS other, window, max(weight) AS w FROM readings AS r JOIN devices AS d ON r.device <=> d.device GROUP BY r.device, d.device, window(r.ts, '2 hours', '1 hour')

-- a comma between tables
SELECT o.owner, window, count(*) AS c FROM readings r, devices o WHERE r.device = o.device AND r.n > 2 GROUP BY o.owner, window(r.ts, '2 hours', '1 hour')

-- a table joined with itself
SELECT a.device, window(a.ts, '2 hours', '1 hour') AS w, max(b.n) AS m FROM readings a JOIN readings b ON a.ts = b.ts GROUP BY a.device, window(a.ts, '2 hours', '1 hour')

-- UNION ALL in FROM
SELECT device, window, count(*) AS c FROM (SELECT ts, device FROM readings UNION ALL SELECT ts, 'all' FROM readings) GROUP BY device, window(ts, '2 hours', '1 hour')

-- UNION of two answers [plain]
SELECT device, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours') UNION ALL SELECT device, min(n) FROM readings GROUP BY device, window(ts, '3 hours')

-- ORDER BY
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours') ORDER BY m DESC, device

-- ORDER BY and LIMIT
SELECT window.start, count(*) AS c FROM readings GROUP BY window(ts, '2 hours') ORDER BY window.start LIMIT 3

-- LIMIT that is not reached
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours') LIMIT 100000

-- SELECT DISTINCT [plain]
SELECT DISTINCT max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours')

-- a window function over the answers [plain]
SELECT device, window.start, sum(count(*)) OVER (PARTITION BY device ORDER BY window.start) AS c FROM readings GROUP BY device, window(ts, '2 hours')

-- a subquery in WHERE [plain]
SELECT device, window, max(n) AS m FROM readings WHERE device IN (SELECT device FROM devices) GROUP BY device, window(ts, '2 hours')

-- ROLLUP [either]
SELECT device, load, count(*) AS c FROM readings GROUP BY ROLLUP(device, load), window(ts, '2 hours')

-- ROLLUP over the window, too [plain]
SELECT device, window, count(*) AS c FROM readings GROUP BY device, window(ts, '2 hours') WITH ROLLUP

-- LATERAL VIEW [plain]
SELECT e, window, count(*) AS c FROM readings LATERAL VIEW explode(xs) t AS e GROUP BY e, window(ts, '2 hours')

-- no window [plain]
SELECT device, max(n) AS m FROM readings GROUP BY device

-- no GROUP BY [plain]
SELECT max(n) AS m, count(*) FROM readings
