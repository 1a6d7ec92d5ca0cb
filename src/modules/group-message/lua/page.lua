-- Page: what readers of one topic may read, its head, and whether the hot set may be read now. What is in the set is read
-- by a plain command right after it, and checked for gaps by the reader.
-- KEYS[1] last_seq   KEYS[2] inflight   KEYS[3] inflight:deadline   KEYS[4] hot_msgs   KEYS[5] hot_meta
-- KEYS[6] group access   KEYS[7…] the hides of each reader
-- ARGV[1] greatest age of a permission, ms   ARGV[2] "1" = begin a hot set where there is none   ARGV[3] life of the set, s
-- ARGV[4] life of a lease to fill hides, s   ARGV[5] a number in flight that has less than this left, ms, sends readers to
-- MySQL   then for each reader: uid, token of a lease to fill his hides
-- Reply: { topic, then one for each reader }
-- topic:
--   NOBODY                                                       no reader may read
--   DOUBT doubt epoch                                            the counter says nothing; epoch "-1" when missing
--   HOT | COLD, stableSeq lastSeq doubt epoch generation runId   COLD: read MySQL; generation "" = do not fill
-- reader:
--   NEEDS_ACCESS | NOT_MEMBER | DISMISSED | NO_GROUP
--   READER floor hides      his own deletions here are "none", "some", or "unknown" (load and fill them under his token);
--                           absent unless the topic is HOT or COLD
--@include doubt
--@include permission
--@include hot

local now, run_id = now_ms(), server_run_id()
local readers, allowed = {}, false
local uids = {}
for i = 7, #KEYS do uids[i - 6] = ARGV[2 * i - 8] end
local permissions = read_permissions(KEYS[6], uids, now - tonumber(ARGV[1]))
for i, uid in ipairs(uids) do
  local permission = permissions[uid]
  local refusal = permission and read_refusal(permission)
  if not permission then readers[i] = { 'NEEDS_ACCESS' }
  elseif refusal then readers[i] = { refusal }
  else
    allowed = true
    readers[i] = { 'READER', text(permission.floor) }
  end
end

local function topic_state()
  if not allowed then return { 'NOBODY' } end
  local counter, doubt = read_counter(KEYS[1], KEYS[2], KEYS[3])
  if doubt and doubt ~= 'expired' then return { 'DOUBT', doubt, counter and text(counter.epoch) or '-1' } end
  local stable = stable_seq(counter, KEYS[2])
  local generation, open = hot_state(KEYS[4], KEYS[5], run_id, now)
  if generation == '' and ARGV[2] == '1' then generation = hot_begin(KEYS[5], run_id, ARGV[3]) end
  local usable = generation ~= '' and not open

  -- Above stableSeq every number must have its copy or be on its way, and that not for long: what was stored and not
  -- settled (its node died, Redis was away) is in MySQL alone and must be shown all the same.
  if usable and counter.seq > stable then
    local oldest = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
    local copies = redis.call('ZCOUNT', KEYS[4], '(' .. text(stable), '+inf')
    usable = oldest[2] and tonumber(oldest[2]) - now >= tonumber(ARGV[5])
      and copies + redis.call('ZCARD', KEYS[2]) == counter.seq - stable
  end
  return {
    usable and 'HOT' or 'COLD', text(stable), text(counter.seq), doubt or '', text(counter.epoch),
    open and '' or generation, run_id,
  }
end

local function hides_of(key, token)
  if redis.call('SISMEMBER', key, 'loaded:' .. run_id) == 1 then
    return redis.call('SCARD', key) > 1 and 'some' or 'none'
  end
  -- Leases that were never used must not pile up.
  if redis.call('SCARD', key) > 16 then redis.call('DEL', key) end
  redis.call('SADD', key, 'lease:' .. token)
  redis.call('EXPIRE', key, ARGV[4])
  return 'unknown'
end

local topic = topic_state()
-- Only a reader who is told something of the topic goes on to load what he deleted: nobody else gets a lease.
if topic[1] == 'HOT' or topic[1] == 'COLD' then
  for i, reader in ipairs(readers) do
    if reader[1] == 'READER' then reader[3] = hides_of(KEYS[i + 6], ARGV[2 * i + 5]) end
  end
end
return { topic, unpack(readers) }
