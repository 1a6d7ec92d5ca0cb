-- Session mark, noting what MySQL said: the session stands. Never covers a revocation: whoever read MySQL before the logout
-- may come with this after it.
-- KEYS[1] mark: 1, or 0|<run id>   ARGV[1] life, s
-- Replies: NOTED | REVOKED
if redis.call('GET', KEYS[1]) == '1' then
  redis.call('EXPIRE', KEYS[1], ARGV[1])
  return 'REVOKED'
end
local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
redis.call('SET', KEYS[1], '0|' .. run_id, 'EX', ARGV[1])
return 'NOTED'
