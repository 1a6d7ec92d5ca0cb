-- Rate, fixed window: counts one use and sets the window's end together with it.
-- KEYS[1] counter   ARGV[1] most uses   ARGV[2] window, s
-- Replies: { 1, ms until the window ends } taken  |  { 0, ms until the window ends } refused, not counted
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
local left = redis.call('PTTL', KEYS[1])
if used and used >= tonumber(ARGV[1]) and left > 0 then return { 0, left } end
redis.call('INCR', KEYS[1])
-- A counter without an end (left over from elsewhere) gets one and starts anew.
if left < 0 then redis.call('SET', KEYS[1], 1, 'EX', ARGV[2]) end
return { 1, redis.call('PTTL', KEYS[1]) }
