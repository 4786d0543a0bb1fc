-- tumbling
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '1 hour')

-- hopping
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '3 hours', '30 minutes')

-- an offset
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '1 hour', '1 hour', '17 minutes')

-- a negative offset
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '3 hours', '1 hour', '-10 minutes')

-- a slide that does not divide the size
SELECT device, window, sum(n) AS s FROM readings GROUP BY device, window(ts, '100 minutes', '30 minutes')

-- odd numbers of seconds
SELECT device, window, sum(n) AS s FROM readings GROUP BY device, window(ts, '7001 seconds', '2003 seconds', '13 seconds')

-- several units
SELECT device, window, sum(n) AS s FROM readings GROUP BY device, window(ts, '1 hour 30 minutes', '45 minutes')

-- INTERVAL inside the text
SELECT device, window, sum(n) AS s FROM readings GROUP BY device, window(ts, 'interval 2 hours', 'INTERVAL 1 hour')

-- numbers of microseconds
SELECT device, window, sum(n) AS s FROM readings GROUP BY device, window(ts, 7200000000, 3600000000L)

-- fractions of a second
SELECT device, window, count(*) AS c FROM readings GROUP BY device, window(local, '1.5 seconds', '0.5 seconds')

-- a duration in double quotes
SELECT device, window, count(*) AS c FROM readings GROUP BY device, window(ts, "2 hours", "1 hour")

-- a session
SELECT device, session_window, count(*) AS c FROM readings GROUP BY device, session_window(ts, '20 minutes')

-- the bounds of a session
SELECT device, session_window.start AS a, session_window.end AS b, max(n) AS m, sum(n) AS s FROM readings GROUP BY device, session_window(ts, '20 minutes') HAVING count(*) > 1

-- a session without a key
SELECT session_window, count(*) AS c, min(n) AS m FROM readings GROUP BY session_window(ts, '10 minutes')

-- a session whose gap depends on the row [plain]
SELECT device, session_window, count(*) AS c FROM readings GROUP BY device, session_window(ts, CASE WHEN n > 3 THEN '5 minutes' ELSE '20 minutes' END)

-- the time of a window [refused]
SELECT device, window_time(window) AS t, count(*) AS c FROM readings GROUP BY device, window(ts, '2 hours')

-- two windows [refused]
SELECT count(*) AS c FROM readings GROUP BY window(ts, '1 hour'), window(ts, '2 hours')

-- one window twice [either]
SELECT device, window, count(*) AS c FROM readings GROUP BY device, window(ts, '2 hours'), window(ts, '2 hours')

-- a field of the window as a key [either]
SELECT device, window(ts, '2 hours').start AS since, count(*) AS c FROM readings GROUP BY device, window(ts, '2 hours').start

-- a window without an event
SELECT device, window, count(*) AS c FROM readings WHERE n > 99 GROUP BY device, window(ts, '2 hours', '1 hour')

-- a time that is always null
SELECT device, window, count(*) AS c FROM (SELECT device, CAST(NULL AS TIMESTAMP) AS ts FROM readings) GROUP BY device, window(ts, '2 hours', '1 hour')
