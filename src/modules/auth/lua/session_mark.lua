-- Session mark, reading it: "stands" counts only on the Redis server it was written on, since a restored dump or a
-- fail-over may have lost a revocation that came after it; "revoked" is for ever and counts wherever it is found.
-- KEYS[1] mark: 1, or 0|<run id>
-- Replies: REVOKED | STANDS | UNKNOWN  MySQL must be asked
local mark = redis.call('GET', KEYS[1])
if not mark then return 'UNKNOWN' end
if mark == '1' then return 'REVOKED' end
local run_id = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
if mark == '0|' .. run_id then return 'STANDS' end
return 'UNKNOWN'
