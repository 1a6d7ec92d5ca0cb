-- Takes the right to fill one member's access record, or shares the one that somebody holds already (an invalidation
-- kills it for all who share it).
-- KEYS[1] the group's access hash
-- ARGV[1] uid  [2] a fresh token  [3] life of a hash that holds nothing but leases, seconds
-- Replies: the standing token
local field = '?' .. ARGV[1]
if redis.call('HSETNX', KEYS[1], field, ARGV[2]) == 1 then
  if redis.call('TTL', KEYS[1]) < 0 then
    redis.call('EXPIRE', KEYS[1], ARGV[3])
  end
  return ARGV[2]
end
return redis.call('HGET', KEYS[1], field)
