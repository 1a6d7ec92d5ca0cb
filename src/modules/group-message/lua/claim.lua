-- Shared: the claim of a client id, "status|owner|seq|epoch|messageId|digest|createdAt": flat text costs a quarter of JSON.
-- Returns nil for what is none; a claim that is lost or unreadable costs a number, the unique index keeps the message single.
local function read_claim(value)
  if not value then return nil end
  local status, owner, seq, epoch, message_id, digest, created_at =
    string.match(value, '^(%a+)|([^|]*)|(%d*)|(%-?%d*)|(%d*)|(%x*)|([^|]*)$')
  if not status then return nil end
  return {
    status = status, owner = owner, seq = seq, epoch = epoch, message_id = message_id, digest = digest, created_at = created_at,
  }
end
