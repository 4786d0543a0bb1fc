-- hours in spring and autumn
SELECT device, window, count(*) AS c FROM readings GROUP BY device, window(ts, '1 hour')

-- days
SELECT device, window, count(*) AS c, max(ts) AS latest FROM readings GROUP BY device, window(ts, '1 day')

-- days that begin at five in the morning of UTC
SELECT window, sum(n) AS s FROM readings GROUP BY window(ts, '1 day', '1 day', '5 hours')

-- weeks
SELECT device, window, min(ts) AS first FROM readings GROUP BY device, window(ts, '1 week')

-- two days by six hours
SELECT device, window, count(*) AS c FROM readings GROUP BY device, window(ts, '2 days', '6 hours')

-- the start as text
SELECT device, CAST(window.start AS STRING) AS since, date_format(window.start, 'yyyy-MM-dd HH:mm XXX') AS f, max(n) AS m FROM readings GROUP BY device, window(ts, '30 minutes')

-- the start as a day
SELECT CAST(window.start AS DATE) AS d, window.start::date AS e, date(window.end) AS f, count(*) AS c FROM readings GROUP BY window(ts, '2 hours', '1 hour')

-- the hour of the wall clock
SELECT extract(HOUR FROM window.start) AS h, hour(window.end) AS i, count(*) AS c FROM readings GROUP BY window(ts, '1 hour')

-- in another zone
SELECT from_utc_timestamp(window.start, 'Asia/Tokyo') AS tokyo, to_utc_timestamp(window.start, 'America/New_York') AS utc, count(*) AS c FROM readings GROUP BY window(ts, '2 hours', '1 hour')

-- a day of the wall clock as a key
SELECT to_date(ts) AS d, window, count(*) AS c FROM readings GROUP BY to_date(ts), window(ts, '3 hours', '1 hour')

-- an hour of the wall clock as a key
SELECT date_trunc('hour', ts) AS h, window, count(*) AS c FROM readings GROUP BY date_trunc('hour', ts), window(ts, '3 hours', '1 hour')

-- local time
SELECT device, window, count(*) AS c FROM readings GROUP BY device, window(local, '10 seconds', '4 seconds')

-- local time of days
SELECT device, window.start, window.end, count(*) AS c FROM readings GROUP BY device, window(local, '1 day', '12 hours')

-- time as text
SELECT device, window, count(*) AS c FROM readings GROUP BY device, window(string(ts), '2 hours', '1 hour')

-- time as a day
SELECT device, window, count(*) AS c FROM readings GROUP BY device, window(to_date(ts), '2 days', '1 day')

-- time that is computed
SELECT device, window, count(*) AS c FROM readings GROUP BY device, window(ts + INTERVAL '30' MINUTE, '2 hours', '1 hour')

-- how long the window is
SELECT device, window.end - window.start AS long, unix_timestamp(window.end) - unix_timestamp(window.start) AS s, count(*) AS c FROM readings GROUP BY device, window(ts, '1 day')

-- a filter on the wall clock
SELECT device, window, count(*) AS c FROM readings WHERE hour(ts) BETWEEN 1 AND 3 AND ts > '2024-03-10 01:30:00' GROUP BY device, window(ts, '2 hours', '1 hour')
