-- Cached values, take: reads each key, and where no usable value is, takes the lease to fill it or shares the standing one.
-- KEYS[1…n] the cached values
-- ARGV[1] a fresh token   ARGV[2] life of a lease, s
-- Reply: for each key either
--   V<run id>:<value>  the value
--   L<run id>:<token>  the lease to fill it with
--@include run_id

local run_id = server_run_id()
local replies = {}
for i, key in ipairs(KEYS) do
  -- A value of another type is no value: it goes.
  local held = redis.call('TYPE', key).ok == 'string' and redis.call('GET', key)
  if not held or string.sub(held, 2, 41) ~= run_id then
    held = 'L' .. run_id .. ':' .. ARGV[1]
    redis.call('SET', key, held, 'EX', ARGV[2])
  end
  replies[i] = held
end
return replies
