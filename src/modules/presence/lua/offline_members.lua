-- Who of some members of a topic is online on none of the living nodes.
-- KEYS: the sets of the living nodes
-- ARGV: uids
-- Reply: { uid, … } of those that are offline
local offline = {}
for _, key in ipairs(KEYS) do
  for index, found in ipairs(redis.call('SMISMEMBER', key, unpack(ARGV))) do
    if found == 1 then offline[index] = false end
  end
end
local uids = {}
for index, uid in ipairs(ARGV) do
  if offline[index] == nil then uids[#uids + 1] = uid end
end
return uids
