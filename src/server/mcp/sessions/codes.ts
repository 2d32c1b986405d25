import { type RpcCodeTable, rpcCodes } from '../errors.ts'

/** 2024-11-05 to 2025-11-25 (`resources`, "Error Handling") and the specification's table. */
export const sessionCodes: RpcCodeTable = {
  resource_not_found: -32002,
  resource_not_enabled: -32002,
  resource_uri_invalid: rpcCodes.invalidParams,
  // In a batch: alone, the whole request is refused with 403.
  scope_insufficient: rpcCodes.refused,
  session_ended: rpcCodes.sessionNotFound,
}
