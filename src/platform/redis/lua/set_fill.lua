-- Cached sets, fill: stores a whole set, if the lease that it was loaded under still stands.
-- KEYS[1] the cached set
-- ARGV[1] lease   ARGV[2] life, s   then the members
-- Replies: FILLED
--          REFUSED  it was changed since, or somebody else filled it: what was loaded may be old
--@include run_id

local run_id = server_run_id()
local fits = string.sub(ARGV[1], 2, 41) == run_id and redis.call('TYPE', KEYS[1]).ok == 'string'
if not fits or redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'REFUSED' end
redis.call('DEL', KEYS[1])
redis.call('SADD', KEYS[1], '#' .. run_id)
for i = 3, #ARGV, 1000 do redis.call('SADD', KEYS[1], unpack(ARGV, i, math.min(i + 999, #ARGV))) end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 'FILLED'
