-- The nodes whose lease has not ended, by this server's clock.
-- KEYS[1] nodes (zset node -> lease expiry, Redis ms)
-- Reply: array of node ids
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', now), '+inf')
