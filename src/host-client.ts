/** The library entry `service-cli/host-client`: the application's end of the host link. */
export { HostClient } from './lib/host-link/host-client.ts'
export type { HostApp } from './lib/host-link/app-state.ts'
export type { ArtefactInput } from './lib/host-link/artefact-source.ts'
export { type ClientLimits, defaultClientLimits } from './lib/host-link/host-client-options.ts'
export type { HostState, HostStatus } from './lib/host-link/connection.ts'
export type {
  HostClientOptions,
  HostClientServices,
  ProducerHandle,
} from './lib/host-link/host-client-options.ts'
export {
  HostBusy,
  HostLinkError,
  type HostLinkErrorCode,
  type PictureRefusal,
  PictureUnavailable,
  ResourceNotFound,
} from './lib/host-link/errors.ts'
export type { EventBufferOptions } from './lib/host-link/feeds.ts'
export { findServe, type FindServeOptions } from './lib/host-link/find-serve.ts'
export type { HostAddress } from './lib/host-link/find-serve.ts'
export type {
  ActInput,
  NoteAction,
  NoteInput,
  NoteState,
  ShownNotes,
} from './lib/host-link/host-notes.ts'
export type {
  HostPicture,
  PictureHandler,
  PictureOptions,
  PictureQuestion,
} from './lib/host-link/pictures.ts'
export type { HostContent, HostProducer } from './lib/host-link/producers.ts'
export type { WaitOptions } from './lib/host-link/status-watch.ts'
export type { ArtefactFacts } from './lib/host-link/artefact-source.ts'
export type { PutArtefact } from './lib/host-link/uploads.ts'
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
} from './lib/host-link/wire.ts'
export type { Logger } from './lib/util/logger.ts'
export { Secret } from './lib/util/secret.ts'
