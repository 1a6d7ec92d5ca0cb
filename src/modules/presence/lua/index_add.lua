-- Adds to an index of what a node holds; the key is never without an end.
-- KEYS[1] the index
-- ARGV[1] TTL, seconds   [2] and on: members
-- Reply: how many are new
local added = redis.call('SADD', KEYS[1], unpack(ARGV, 2))
redis.call('EXPIRE', KEYS[1], ARGV[1])
return added
