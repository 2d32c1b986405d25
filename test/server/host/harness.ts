import { expect } from 'chai'
import { createHash } from 'node:crypto'
import { describePut } from '../../../src/server/artefacts/sidecar.ts'
import type { ArtefactFields, PutResult } from '../../../src/server/artefacts/store.ts'
import { Secret } from '../../../src/lib/util/secret.ts'
import { Checkpoints } from '../../../src/server/checkpoints/checkpoints.ts'
import { DocumentFolder } from '../../../src/server/checkpoints/document-folder.ts'
import { createHostEndpoint, type HostParts } from '../../../src/server/host/endpoint.ts'
import type { LinkedPictures } from '../../../src/server/capture/host-backend.ts'
import type { Presence } from '../../../src/lib/host-link/messages.ts'
import { AuditLog, type AuditRecord } from '../../../src/server/resources/audit-log.ts'
import type { TextContent } from '../../../src/server/resources/producer.ts'
import type { ResourceRegistry } from '../../../src/server/resources/registry.ts'
import type { SceneState } from '../../../src/server/resources/scene/state.ts'
import type { RefusedRequest } from '../../../src/server/http/refusal-log.ts'
import { McpHttpServer } from '../../../src/server/mcp-http-server.ts'
import { stoppedAtEnd } from '../../helpers/cleanup.ts'
import { helloOf, LinkClient } from '../../helpers/link.ts'
import { RawSocket } from '../../process/raw-socket.ts'
import { type Answer, ask } from '../../helpers/mcp.ts'
import { recordingLog } from '../../helpers/fakes.ts'
import { serverDefaults, type ServerLimits } from '../../../src/server/http/limits.ts'

const token = 'host-token-of-this-test'
export const bearer = { Authorization: `Bearer ${token}` }
export const json = { ...bearer, 'Content-Type': 'application/json' }

export type Message = Record<string, unknown>

type Headers = Record<string, string | string[]>

export interface LinkServerOptions {
  readonly limits?: Partial<ServerLimits>
  readonly allowedOrigins?: readonly string[]
  /** Default: a store in memory. */
  readonly artefacts?: HostParts['artefacts']
  /** Default: there are none. */
  readonly notes?: HostParts['notes']
}

/** A store that remembers what arrived. */
class MemoryArtefacts {
  readonly stored = new Map<string, { bytes: Buffer; fields: ArtefactFields }>()
  /** Puts that were begun and did not end well. */
  broken = 0
  /** Called when a put has taken its first bytes. */
  onFirstBytes: () => void = () => {}
  onBroken: () => void = () => {}

  async put(source: AsyncIterable<Uint8Array>, fields: ArtefactFields = {}): Promise<PutResult> {
    const chunks: Uint8Array[] = []
    try {
      for await (const chunk of source) {
        if (chunks.push(chunk) === 1) this.onFirstBytes()
      }
    } catch (error) {
      this.broken++
      this.onBroken()
      throw error
    }
    const bytes = Buffer.concat(chunks)
    const hex = createHash('sha256').update(bytes).digest('hex')
    const existed = this.stored.has(hex)
    this.stored.set(hex, { bytes, fields })
    const origin = { instance_id: null, dcc_type: null }
    const facts = { hex, size: bytes.length, nowMs: 0, ttlMs: 0, origin, previous: null }
    const ref = describePut(fields, facts)
    return { ref, existed }
  }

  async remove(hex: string): Promise<boolean> {
    return this.stored.delete(hex)
  }
}

/** The whole server on port 0, which remembers what arrived. */
export class LinkServer {
  readonly scenes: (object | null)[] = []
  readonly records: AuditRecord[] = []
  /** Scenes and audit records in the order of their arrival. */
  readonly journal: string[] = []
  readonly memory = new MemoryArtefacts()
  readonly presences: Presence[] = []
  readonly refused: RefusedRequest[] = []
  readonly log = recordingLog()
  /** The application as a source of pictures. */
  pictures!: LinkedPictures
  registry!: ResourceRegistry
  readonly #server: McpHttpServer
  port = 0

  static async start(options: LinkServerOptions = {}): Promise<LinkServer> {
    const server = new LinkServer(options)
    server.port = (await server.#server.start()).port
    return server
  }

  private constructor({ limits = {}, allowedOrigins = [], ...stores }: LinkServerOptions) {
    const services = {
      log: this.log,
      accessLog: () => {},
      host: ({ registry }: { registry: ResourceRegistry }) => {
        this.registry = registry
        this.#recordScenes(registry.scene)
        const audit = new AuditLog()
        const endpoint = createHostEndpoint({
          registry,
          audit: {
            record: record => {
              this.records.push(record)
              this.journal.push(`audit ${record.action}`)
              return audit.record(record)
            },
          },
          checkpoints: new Checkpoints({
            document: () => new DocumentFolder('/nowhere'),
            scene: () => registry.scene.fresh(),
          }),
          appOrigins: [],
          notes: null,
          artefacts: this.memory,
          clients: { rows: () => [], watch: () => () => {} },
          token: new Secret(token),
          log: this.log,
          limits: { ...serverDefaults, ...limits },
          onPresence: presence => void this.presences.push(presence),
          onRefused: refused => void this.refused.push(refused),
          ...stores,
        })
        this.pictures = endpoint.pictures
        return endpoint
      },
    }
    this.#server = new McpHttpServer({ allowedOrigins }, { limits, ...services })
  }

  #recordScenes(scene: SceneState): void {
    const replace = scene.replaceText.bind(scene)
    scene.replaceText = (text, ...rest) => {
      if (text?.includes('explode')) throw new Error('secret path /etc/shadow')
      const revision = replace(text, ...rest)
      this.scenes.push(JSON.parse(text ?? 'null'))
      this.journal.push(`scene ${text}`)
      return revision
    }
  }

  get scene(): SceneState {
    return this.registry.scene
  }

  /** Sessions of events that clients find. */
  async buffers(): Promise<string[]> {
    const { descriptors } = await this.registry.page(undefined)
    const events = descriptors.filter(({ uri }) => uri.startsWith('events:'))
    return events.map(({ uri }) => decodeURIComponent(uri.slice('events://session/'.length)))
  }

  /** What a client reads. */
  async read(uri: string): Promise<any> {
    const [content] = await this.registry.read(uri)
    return JSON.parse((content as TextContent).text)
  }

  readonly token = token

  get hostUrl(): string {
    return `http://127.0.0.1:${this.port}/host`
  }

  get presence(): Presence | undefined {
    return this.presences.at(-1)
  }

  /** A WebSocket past the handshake that has said nothing yet. */
  async open(): Promise<LinkClient> {
    return LinkClient.open(this)
  }

  /** One that said hello and was welcomed. */
  async join(instanceId = 'run-1', members: object = {}): Promise<LinkClient> {
    return LinkClient.connect(this, { instance_id: instanceId, ...members })
  }

  /** A connection for what no client library would send. */
  async raw(): Promise<RawSocket> {
    return RawSocket.open(this.port)
  }

  post(path: string, body: string | Buffer, headers: Headers = json): Promise<Answer> {
    return this.send('POST', path, headers, body)
  }

  send(method: string, path: string, headers: Headers, body?: string | Buffer): Promise<Answer> {
    return ask(`http://127.0.0.1:${this.port}${path}`, { method, headers, body })
  }

  expectNothingArrived(): void {
    expect(this.scenes).to.deep.equal([])
    expect(this.records).to.deep.equal([])
    expect(this.memory.stored.size).to.equal(0)
  }

  get errors(): string[] {
    return this.log.lines.filter(({ level }) => level === 'error').map(({ text }) => text)
  }

  readonly stop = stoppedAtEnd(() => this.#server.stop())
}

export const hello = (instanceId = 'run-1'): Message => helloOf({ instance_id: instanceId })

export function head(path: string, headers: Record<string, string | number>): string {
  const lines = Object.entries({ Host: 'localhost', ...headers }).map(([k, v]) => `${k}: ${v}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}
