import { type RpcCodeTable, rpcCodes } from '../errors.ts'

/** Codes that revision 2026-07-28 defines ("basic", "Error Codes"). */
export const statelessRpcCodes = {
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const

/** −32002 must not be sent in this era: what does not exist is a parameter out of range. */
export const statelessCodes: RpcCodeTable = {
  resource_not_found: rpcCodes.invalidParams,
  resource_not_enabled: rpcCodes.invalidParams,
  resource_uri_invalid: rpcCodes.invalidParams,
}
