-- The nodes whose lease has ended and whose remains are not cleared yet, by this server's clock.
-- KEYS[1] nodes (zset node -> lease expiry, Redis ms)
-- ARGV[1] how many at most
-- Reply: { node, lease expiry ms, node, … }
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'WITHSCORES', 'LIMIT', 0, ARGV[1])
