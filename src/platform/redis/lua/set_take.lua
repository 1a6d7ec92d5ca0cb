-- Cached sets, take: tells which members are in a set that is known to be whole; where it is not, takes the lease to fill it
-- or shares the standing one. A set that is whole holds the marker `#<run id>`; a lease is a string in the set's place.
-- KEYS[1…n] the cached sets
-- ARGV[1] a fresh token   ARGV[2] life of a lease, s   then the members that are asked for
-- Reply: for each key either
--   an array of 1 and 0, one for each member
--   L<run id>:<token>  the lease to fill it with
--@include run_id

local run_id = server_run_id()
local replies = {}
for i, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  if kind == 'set' and redis.call('SISMEMBER', key, '#' .. run_id) == 1 then
    replies[i] = redis.call('SMISMEMBER', key, unpack(ARGV, 3))
  else
    local held = kind == 'string' and redis.call('GET', key)
    if not held or string.sub(held, 1, 41) ~= 'L' .. run_id then
      held = 'L' .. run_id .. ':' .. ARGV[1]
      redis.call('SET', key, held, 'EX', ARGV[2])
    end
    replies[i] = held
  end
end
return replies
