import type { ErrorCode } from '../errors.ts'

/** What a failed command ends with; the table in the README has the rest. */
export const exitCodes = {
  failed: 1,
  usage: 2,
  refused: 3,
  authentication: 4,
  network: 5,
  rateLimited: 6,
} as const

/** The one translation from what went wrong to the exit code. */
export const exitCodeOf: Readonly<Record<ErrorCode, number>> = {
  usage_invalid: exitCodes.usage,
  config_invalid: exitCodes.usage,
  registry_dir_unsafe: exitCodes.usage,
  auth_required: exitCodes.authentication,
  auth_refused: exitCodes.authentication,
  request_refused: exitCodes.refused,
  body_invalid: exitCodes.refused,
  body_too_large: exitCodes.refused,
  body_timeout: exitCodes.network,
  media_type_unsupported: exitCodes.refused,
  method_not_allowed: exitCodes.refused,
  upgrade_required: exitCodes.refused,
  route_not_found: exitCodes.refused,
  limit_reached: exitCodes.rateLimited,
  resource_not_found: exitCodes.refused,
  resource_not_enabled: exitCodes.refused,
  resource_uri_invalid: exitCodes.refused,
  artefact_too_large: exitCodes.refused,
  port_in_use: exitCodes.failed,
  listen_failed: exitCodes.failed,
  file_exists: exitCodes.failed,
  storage_failed: exitCodes.failed,
  storage_full: exitCodes.failed,
  resource_failed: exitCodes.failed,
  session_ended: exitCodes.failed,
  artefact_corrupt: exitCodes.failed,
  internal: exitCodes.failed,
}
