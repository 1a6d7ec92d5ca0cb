-- Rate, fixed window by name: counts a use that was not counted in this window yet.
-- KEYS[1] set of uses   ARGV[1] the use   ARGV[2] most uses   ARGV[3] window, s
-- Replies: { 1, 0 } taken, now or before  |  { 0, ms until the window ends } refused, not counted
if redis.call('TYPE', KEYS[1]).ok ~= 'set' then redis.call('DEL', KEYS[1]) end
local left = redis.call('PTTL', KEYS[1])
-- A set without an end (left over from elsewhere) starts anew.
if left == -1 then redis.call('DEL', KEYS[1]) end
if redis.call('SISMEMBER', KEYS[1], ARGV[1]) == 1 then return { 1, 0 } end
if redis.call('SCARD', KEYS[1]) >= tonumber(ARGV[2]) then return { 0, left } end
redis.call('SADD', KEYS[1], ARGV[1])
if left < 0 then redis.call('EXPIRE', KEYS[1], ARGV[3]) end
return { 1, 0 }
