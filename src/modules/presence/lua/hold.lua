-- Takes or prolongs the right to clear what a dead node left.
-- KEYS[1] the lock
-- ARGV[1] owner token   [2] for how long, ms
-- Replies: {"HELD"} it is the caller's  |  {"TAKEN"} somebody else clears
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return { 'TAKEN' } end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return { 'HELD' }
