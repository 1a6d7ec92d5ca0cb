-- Settle: what became of sends of one topic. Takes their numbers out of flight and writes their claims.
-- KEYS[1] last_seq   KEYS[2] inflight   KEYS[3] inflight:deadline   KEYS[4] hot_msgs   KEYS[5] hot_meta
-- KEYS[6…] claim (uniq:msg) of each send
-- ARGV[1] life of the hot set, s   ARGV[2] most hot members   ARGV[3] most hot bytes
-- ARGV[4] life of a claim that is done, s   ARGV[5] of one that failed
-- then for each send: epoch of the number; seq to release, "" when no row with it is known to be stored;
--   new claim, done or failed, "" to leave it; hot copy "<version>:<JSON>", "" for none; hot generation at Admit
-- Reply: { stableSeq or "", then for each send SETTLED, or OTHER_EPOCH (the counter has moved on; the claim was written) }
--@include doubt
--@include hot
--@include claim

-- Only by its owner, and never over a message that is stored.
local function fail(key, value)
  local claim = read_claim(redis.call('GET', key))
  if claim and claim.status ~= 'done' and claim.owner == read_claim(value).owner then
    redis.call('SET', key, value, 'EX', ARGV[5])
  end
end

local head = redis.call('HMGET', KEYS[1], 'epoch', 'seq')
local now = now_ms()
local releases, copies, replies = {}, {}, { '' }

for i = 1, #KEYS - 5 do
  local key, at = KEYS[i + 5], 5 * i + 1
  local epoch, release, claim, copy = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  if string.sub(claim, 1, 5) == 'done|' then
    redis.call('SET', key, claim, 'EX', ARGV[4])
  elseif claim ~= '' then
    fail(key, claim)
  end
  if head[1] ~= epoch then
    replies[i + 1] = 'OTHER_EPOCH'
  else
    replies[i + 1] = 'SETTLED'
    if release ~= '' then
      releases[#releases + 1] = release
      copies[#copies + 1] = copy ~= '' and { copy, ARGV[at + 4] } or false
    end
  end
end

if #releases > 0 then
  local deadlines = redis.call('ZMSCORE', KEYS[3], unpack(releases))
  local removed = redis.call('ZREM', KEYS[2], unpack(releases))
  if removed > 0 then redis.call('HINCRBY', KEYS[1], 'entries', -removed) end
  redis.call('ZREM', KEYS[3], unpack(releases))

  -- Copies of those that settled within their deadline, which is shorter than the life of an open change: a message that
  -- was recalled meanwhile has raised the generation. Nothing is filled above stableSeq, so none of them is there yet.
  local run_id, generation, open, members, bytes = nil, nil, nil, {}, 0
  for i, copy in ipairs(copies) do
    if copy and tonumber(deadlines[i] or '0') > now then
      if not run_id then
        run_id = server_run_id()
        generation, open = hot_state(KEYS[4], KEYS[5], run_id, now)
      end
      if not open and copy[2] == generation then
        members[#members + 1], members[#members + 2] = releases[i], copy[1]
        bytes = bytes + #copy[1]
      end
    end
  end
  if #members > 0 then
    if generation == '' then hot_begin(KEYS[5], run_id, ARGV[1]) end
    hot_add(KEYS[4], KEYS[5], members, bytes, tonumber(ARGV[2]), tonumber(ARGV[3]))
    hot_keep(KEYS[4], KEYS[5], ARGV[1])
  end
end

if head[2] then replies[1] = text(stable_seq({ seq = tonumber(head[2]) }, KEYS[2])) end
return replies
