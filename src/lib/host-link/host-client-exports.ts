export type { HostApp } from './app-state.ts'
export type { ArtefactInput } from './artefact-source.ts'
export { type ClientLimits, defaultClientLimits } from './host-client-options.ts'
export type { HostState, HostStatus } from './connection.ts'
export type {
  HostClientOptions,
  HostClientServices,
  ProducerHandle,
} from './host-client-options.ts'
export {
  HostBusy,
  HostLinkError,
  type HostLinkErrorCode,
  type PictureRefusal,
  PictureUnavailable,
  ResourceNotFound,
} from './errors.ts'
export type { EventBufferOptions } from './feeds.ts'
export { findServe, type FindServeOptions } from './find-serve.ts'
export type { HostAddress } from './find-serve.ts'
export type { HostPicture, PictureHandler, PictureOptions, PictureQuestion } from './pictures.ts'
export type { HostContent, HostProducer } from './producers.ts'
export type { WaitOptions } from './status-watch.ts'
export type { ArtefactFacts } from './artefact-source.ts'
export type { PutArtefact } from './uploads.ts'
export type {
  DocumentState,
  LinkAnnotations,
  LinkAuditRecord,
  LinkDescriptor,
  LinkEvent,
  LinkIcon,
  LinkTemplate,
  Mode,
  PictureTarget,
} from './wire.ts'
export type { Logger } from '../util/logger.ts'
export { Secret } from '../util/secret.ts'
