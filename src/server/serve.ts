import { createHash, randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Presence } from '../lib/host-link/messages.ts'
import { documentsPath, selectStateDirectory } from '../lib/config/paths.ts'
import { instanceFile, openStateDirectory } from '../lib/instances/state-directory.ts'
import { newOwnerToken, withGatewayAccess, withOwnerAccess } from './auth/account-access.ts'
import { createAuth } from './auth/auth.ts'
import { openBucket } from './artefacts/bucket.ts'
import type { ArtefactFiles } from './artefacts/files.ts'
import { ArtefactFolder } from './artefacts/folder.ts'
import { artefactRootIn } from './artefacts/helpers.ts'
import { ArtefactStore } from './artefacts/store.ts'
import { Checkpoints } from './checkpoints/checkpoints.ts'
import { DocumentFolder } from './checkpoints/document-folder.ts'
import { makeAppOrigins } from './host/app-origins.ts'
import { createHostEndpoint } from './host/endpoint.ts'
import { resolveHostToken } from './host/host-token.ts'
import { createInstanceRecord, InstanceFile, sceneTimePatch } from './host/instance-record.ts'
import { ApplicationStatus, dccTypeOf, nameOf, presencePatch } from './host/status.ts'
import { SceneFile } from './host/scene-file.ts'
import { serverDefaults } from './http/limits.ts'
import { baseUrlOf } from './http/listen-options.ts'
import { stoppable } from './http/server-socket.ts'
import { ClientTable } from './mcp/client-table.ts'
import { Metrics } from './http/metrics.ts'
import { KeptSessions } from './mcp/kept-sessions.ts'
import { McpHttpServer } from './mcp-http-server.ts'
import { reapInstances } from '../lib/instances/record-files.ts'
import { Prover } from './notes/prover.ts'
import { readDetail } from './resources/object-detail.ts'
import { Notes } from './notes/notes.ts'
import { AuditLog } from './resources/audit-log.ts'
import { openServeCapture } from './host/serve-capture.ts'
import type { ServeHandle, ServeOptions } from './host/serve-options.ts'
import { version } from '../lib/util/version.ts'
import type { Joiner } from './join/joiner.ts'

/**
 * The main job: one server beside one application. Opens the state directory, the artefact store
 * and the host link, binds, and announces itself to adapters and gateways by an instance record.
 * Once `cancelled` is aborted, it does not bind any more: it rejects and leaves nothing behind.
 */
export async function startServe(
  options: ServeOptions,
  cancelled: AbortSignal = new AbortController().signal,
): Promise<ServeHandle> {
  const { log } = options
  const limits = { ...serverDefaults, ...options.limits }
  const instanceId = randomUUID()
  const registryDir = await openStateDirectory(
    selectStateDirectory(options.registryDir, process.env),
  )
  const instancesDir = registryDir.instances
  await reapInstances(instancesDir, log)

  const status = new ApplicationStatus(log)
  const origin = () => ({
    instance_id: instanceId,
    dcc_type: dccTypeOf(options.dccType, status.current?.app),
  })
  // Ended in reverse order: at the stop, or at once when a later step of the start fails.
  await using opened = new AsyncDisposableStack()
  const artefactRoot = artefactRootIn(registryDir.path)
  const files = await artefactFiles(options.artefacts, artefactRoot)
  const store = files && new ArtefactStore(files, { limits, log, origin })
  opened.defer(() => store?.close())
  await store?.start()
  const token = await resolveHostToken({
    file: options.hostTokenFile,
    env: options.hostTokenEnv,
    instancesDir,
    instanceId,
  })
  opened.defer(async () => {
    // A failure must not hide what ended the server.
    await rm(instanceFile(instancesDir, instanceId, 'token'), { force: true }).catch(() => {})
  })
  let mcpUrl = `${baseUrlOf(options, options.port)}/mcp`
  const auth = await createAuth(options.auth ?? { mode: 'none' }, { mcpUrl: () => mcpUrl, log })
  const gatewaysToo = withGatewayAccess(auth.policy, { instanceId, hostToken: token.secret })
  const ownerToken = newOwnerToken()
  opened.defer(() => auth.close())
  const audit = new AuditLog()
  // Without resources no client can read the picture, so the window is not captured.
  const capture =
    options.resources && options.capture !== undefined
      ? openServeCapture(options.capture, limits.captureMs, log)
      : null
  opened.defer(() => capture?.source.close())
  const config = {
    enableResources: options.resources,
    enableTools: options.tools === true,
    enableArtefactResources: options.artefacts !== false,
    enablePage: options.page === true,
  }
  const documents = documentsPath(process.env)
  const folderOf = ({ app, document: open }: Partial<Presence>) =>
    documentFolder(documents, options, open, [
      dccTypeOf(options.dccType, app),
      app?.pid ?? instanceId,
    ])
  const document = () => folderOf(status.current ?? {})
  const checkpoints = new Checkpoints({ document, scene: () => registry.scene.fresh() })
  opened.defer(() => checkpoints.close())
  const notes = options.notes
    ? new Notes({
        document,
        checkpoints,
        prover: new Prover({
          document,
          scene: () => registry.scene.fresh(),
          checkpoints,
          camera: capture?.source ?? null,
          detail: id => readDetail(registry, id),
        }),
        shared() {
          const isShared = status.current?.cleared === undefined || registry.scene.current.hasScene
          return isShared ? { document: nameOf(status.current?.document) } : null
        },
        audit,
        log,
      })
    : undefined
  const metrics = new Metrics('serve', options.accessLog)
  let joiner: Joiner | null = null
  const kept = await KeptSessions.open({ ...options, registryDir: registryDir.path })
  let announced: InstanceFile | null = null
  const { dccType, name } = options
  const showApplication = () => {
    const given = { dccType, named: name !== undefined, hostname: hostname() }
    const { current, sinceMs } = status
    if (current !== null) void announced?.update(presencePatch(current, given, sinceMs))
  }
  const clients = new ClientTable()
  const appOrigins = makeAppOrigins(options.appOrigins)
  const server = new McpHttpServer(config, {
    instance: () =>
      announced?.record ?? { instance_id: instanceId, dcc_type: '', display_name: '', scene: null },
    notes,
    checkpoints,
    kept,
    clients,
    where: options,
    log,
    accessLog: metrics.accessLog,
    metrics,
    readyFacts: () => ({ join: joiner?.facts }),
    auth: withOwnerAccess(gatewaysToo, ownerToken),
    documents: auth.documents,
    limits,
    store,
    captureSource: capture?.source,
    page: { keyLogin: options.auth?.mode !== 'oauth' },
    host: ({ registry, onRefused, pageLogin }) => {
      const endpoint = createHostEndpoint({
        registry,
        audit,
        checkpoints,
        clients,
        notes: notes ?? null,
        artefacts: store ?? null,
        token: token.secret,
        appOrigins,
        limits,
        log,
        onRefused,
        pageLogin,
        onPresence: presence => {
          const before = status.current
          status.set(presence)
          showApplication()
          const { saved_from: savedFrom } = presence.document ?? {}
          const { path, name } = before?.document ?? {}
          const isSaved = savedFrom !== undefined && savedFrom === (path ?? name)
          const from = before !== null && isSaved ? folderOf(before) : null
          notes?.documentChanged(from, path === undefined)
          capture?.follow(presence)
        },
      })
      capture?.link(endpoint.pictures)
      return endpoint
    },
  })
  opened.defer(() => server.stop())
  const registry = server.resources()
  registry.wireAuditLog(audit)

  cancelled.throwIfAborted()
  const { url, localUrl } = await server.start()
  // Before the port is free for another server.
  opened.defer(() => kept?.close())
  mcpUrl = url
  const hostUrl = `${localUrl}/host`
  const record = await InstanceFile.create({
    instancesDir,
    heartbeatMs: limits.heartbeatMs,
    log,
    record: createInstanceRecord({
      instance_id: instanceId,
      dcc_type: dccType,
      display_name: name,
      mcp_url: url,
      host_url: hostUrl,
      host_token_file: token.file,
      version,
      gateways: options.join?.gateways,
    }),
    ownerToken,
  })
  announced = record
  opened.defer(() => record.remove())
  showApplication()
  const noteScene = (): void => {
    const patch = sceneTimePatch(registry.scene, record.record)
    if (patch !== null) void record.update(patch)
  }
  registry.listen({ resourceUpdated: noteScene })
  noteScene()
  const { sceneFile } = options
  if (sceneFile !== undefined) {
    const watcher = new SceneFile({
      path: sceneFile,
      scene: registry.scene,
      maxBytes: limits.maxMessageBytes,
      log,
      onProblem: problem =>
        void record.update({ metadata: problem === null ? {} : { scene_file: problem } }),
    })
    opened.defer(() => watcher.stop())
    registry.listen({ resourceUpdated: () => watcher.checkPause() })
  }
  const { join: joins } = options
  if (joins !== undefined) {
    const { Joiner } = await import('./join/joiner.ts')
    const parts = { record, listener: server.linkListener(), log }
    const joined = new Joiner({ ...joins, ...parts })
    joiner = joined
    opened.defer(() => joined.stop())
  }

  const { gateway } = options
  // Loaded only then; its address is its own.
  const companion =
    gateway &&
    (await import('./gateway.ts')).startEmbeddedGateway({
      ...options,
      ...gateway,
      publicUrl: undefined,
      registryDir: registryDir.path,
    })

  const running = opened.move()
  return {
    url,
    hostUrl,
    hostTokenFile: token.file,
    instanceId,
    appOrigins,
    pageLogin: () => server.pageLoginUrl(),
    gatewayPageLogin: async () => (await companion?.active)?.pageLogin() ?? null,
    capture: capture?.source ?? null,
    // Side by side: each may take its whole grace time.
    ...stoppable(() => Promise.all([companion?.stop(), running.disposeAsync()])),
  }
}

async function artefactFiles(
  where: ServeOptions['artefacts'],
  root: string,
): Promise<ArtefactFiles | undefined> {
  if (where === false) return undefined
  if (where === true) return new ArtefactFolder(root)
  return openBucket(where, join(root, 'tmp'))
}

/**
 * The folder of a document: files of one name in two folders stay apart. A document without a path
 * is of this user alone, and its folder has the suffix `.local`; one with a name belongs to the run of
 * its application, because others may have an "untitled", too.
 */
function documentFolder(
  ownDocuments: string,
  { documentsDir }: Pick<ServeOptions, 'documentsDir'>,
  open: Presence['document'] | undefined,
  [dccType, run]: [string, string | number],
): DocumentFolder {
  const { path, name } = open ?? {}
  const of = path ?? (name === undefined ? '' : `${run}\n${name}`)
  const identity = createHash('sha256').update(`${dccType}\n${of}`)
  const hash = identity.digest('hex').slice(0, 32)
  if (path === undefined) return new DocumentFolder(join(ownDocuments, `${hash}.local`))
  return new DocumentFolder(join(documentsDir ?? ownDocuments, hash), documentsDir !== undefined)
}
