-- Rate, fixed window: takes back one use that was counted. A window that began later has more time left and stays as it is.
-- KEYS[1] counter   ARGV[1] ms that the window had left when the use was counted
-- Replies: 1 taken back  |  0 the window has passed
local left = redis.call('PTTL', KEYS[1])
if left < 0 or left > tonumber(ARGV[1]) then return 0 end
if (tonumber(redis.call('GET', KEYS[1])) or 0) < 1 then return 0 end
redis.call('DECR', KEYS[1])
return 1
