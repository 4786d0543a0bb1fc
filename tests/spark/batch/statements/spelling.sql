-- capitals
select DEVICE, WINDOW, MAX(N) as M from READINGS group by DEVICE, WINDOW(TS, '2 hours', '1 hour')

-- mixed case
Select Device, Window.Start, Window.END, Count(*) As C From Readings Group By device, Window(Ts, '2 Hours', '1 HOUR')

-- one key in several cases
SELECT device, DEVICE AS a, upper(DeVice) AS b, window, max(n), MAX(N) AS m, max( N ) AS k FROM readings GROUP BY Device, window(ts, '2 hours', '1 hour') HAVING DEVICE <> 'd1'

-- backquotes around everything
SELECT `device`, `window`, max(`n`) AS `m` FROM `readings` GROUP BY `device`, window(`ts`, '2 hours', '1 hour') HAVING `m` > 1

-- backquotes in one place and not in another
SELECT `device`, `readings`.`device` AS d, `window`.`start`, count(*) AS c FROM readings GROUP BY device, window(readings.ts, '2 hours', '1 hour')

-- a column with a blank in its name
SELECT `odd name`, window, max(n) AS m, `odd name` + 1 AS next FROM readings GROUP BY `odd name`, window(ts, '2 hours', '1 hour') HAVING `odd name` = 1

-- an alias with a blank, a dot, a quote, a backquote
SELECT device AS `the device`, max(n) AS `max.n`, min(n) AS `it's`, count(*) AS `a``b`, window AS `the "window"` FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING `max.n` > 1 AND `a``b` > 0 AND `it's` < 9

-- an alias in another script
SELECT device AS `gerät`, max(n) AS `größtes`, count(*) AS `数` FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING `größtes` > 2

-- aliases without AS
SELECT device dev, window w, max(n) m, count(*) c FROM readings r GROUP BY device, window(ts, '2 hours', '1 hour')

-- names with their table
SELECT readings.device, max(readings.n) AS m FROM readings GROUP BY readings.device, window(readings.ts, '2 hours', '1 hour') HAVING max(readings.n) > 1

-- names with and without their table
SELECT r.device, device AS again, upper(r.device) AS u, window, sum(n) AS s FROM readings r GROUP BY device, window(r.ts, '2 hours', '1 hour') HAVING r.device IS NOT NULL

-- a key with its table, selected without
SELECT device, window, sum(r.n) AS s FROM readings AS r GROUP BY r.device, window(ts, '2 hours', '1 hour')

-- a table called like its column
SELECT device.device, window, count(*) AS c FROM (SELECT ts, device FROM readings) AS device GROUP BY device.device, window(ts, '2 hours', '1 hour')

-- a table called like a struct of its own
SELECT payload.dev, window, count(*) AS c FROM (SELECT ts, payload.dev FROM readings) AS payload GROUP BY payload.dev, window(ts, '2 hours', '1 hour')

-- a table called window [either]
SELECT window.device, count(*) AS c FROM readings AS window GROUP BY window.device, window(window.ts, '2 hours', '1 hour')

-- comments in odd places [either]
SELECT /* first */ device, -- the key
  window /* the window */ , max( /* of */ n -- inside
  ) AS /* as */ m FROM /* from */ readings -- where?
  GROUP /* by */ BY device /* , load */, window(ts /* time */, '2 hours' -- size
  , '1 hour') -- end; SELECT

-- comments with quotes in them
SELECT device, window, max(n) AS m -- it's "not" `closed`
FROM readings /* don't; */ WHERE n > 1 -- don't
GROUP BY device, window(ts, '2 hours', '1 hour') /* ' */

-- nested comments
SELECT device, /* a /* b */ c */ window, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- a comment between a name and its bracket
SELECT device, max /* n */ (n) AS m, count /**/ (*) AS c FROM readings GROUP BY device, window /* of */ (ts, '2 hours', '1 hour')

-- tabs, returns and no blanks
SELECT	device,max(n)AS m,window.start
FROM readings
GROUP BY	device,window(ts,'2 hours','1 hour')HAVING(max(n)>1)

-- numbers of all kinds
SELECT device, max(n) + 1L AS a, max(n) + 1.5D AS b, max(n) * 1e2 AS c, 1BD + max(n) AS d, max(n) - .5 AS e, 0x1F IS NULL AS f FROM (SELECT *, 1 AS 0x1F FROM readings) GROUP BY device, 0x1F, window(ts, '2 hours', '1 hour')

-- the window by its call
SELECT device, window(ts, '2 hours', '1 hour'), window(ts, '120 minutes', '60 minutes').start AS since, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- ALL in SELECT and in an aggregate
SELECT ALL device, max(ALL n) AS m, min(DISTINCT n) AS l FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')
