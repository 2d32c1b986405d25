/**
 * The library: serve an application's state as MCP resources from a TypeScript or JavaScript host.
 *
 * @example
 * const server = new McpHttpServer({ port: 8765 })
 * server.resources().setScene({ name: 'shot 010' })
 * const { url } = await server.start()
 */
export type {
  BackendName,
  Capture,
  CaptureBackend,
  CaptureFailure,
  CaptureForm,
  CaptureTarget,
  Unavailable,
} from './server/capture/backend.ts'
export { McpHttpServer } from './server/mcp-http-server.ts'
export type { McpHttpConfig, McpServices } from './server/mcp-http-config.ts'
export { defaultLimits, type Limits } from './lib/config/limits.ts'
export type { ResourceRegistry } from './server/resources/registry.ts'
export type {
  Annotations,
  BlobContent,
  Content,
  Descriptor,
  EncodedBlob,
  ResourceProducer,
  StreamedBlob,
  Template,
  TextContent,
} from './server/resources/producer.ts'
export {
  ResourceNotEnabled,
  ResourceNotFound,
  ResourceUriInvalid,
} from './server/resources/errors.ts'
export {
  type AuditEntry,
  AuditLog,
  type AuditOutcome,
  type AuditRecord,
} from './server/resources/audit-log.ts'
export {
  type SessionEvent,
  SessionEventBuffer,
  type SessionEventBufferOptions,
  type SessionEventInput,
  type SessionEventPage,
} from './server/resources/session-event-buffer.ts'
export {
  type ArtefactFilter,
  type ArtefactOptions,
  artefactGetBytes,
  artefactList,
  artefactPutBytes,
  artefactPutFile,
} from './server/artefacts/helpers.ts'
export type { ArtefactRef } from './server/artefacts/store.ts'
export { apiKeyPolicy } from './server/http/authentication.ts'
export type { AuthOutcome, AuthPolicy, Caller } from './server/http/authentication.ts'
export { ApiKeyConfig, type ApiKeyOptions, generateApiKey } from './lib/auth/api-key-config.ts'
export {
  CimdDocument,
  type CimdJson,
  type CimdOptions,
  OAuthConfig,
  type OAuthOptions,
  type ToCimdOptions,
} from './lib/auth/oauth-config.ts'
export {
  type BearerOptions,
  type HeaderSource,
  TokenValidationError,
  unauthorizedResult,
  type UnauthorizedResult,
  validateBearerToken,
} from './lib/auth/validate-bearer-token.ts'
export { type ErrorCode, type ErrorDetails, ServiceError } from './lib/util/errors.ts'
export type { Logger } from './lib/util/logger.ts'
