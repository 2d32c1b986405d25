import { gatewayKey } from '../../../lib/instances/gateway-key.ts'
import { tokenFile } from '../../../lib/instances/files.ts'
import { readSecretFile } from '../../../lib/auth/secret-file.ts'
import { HttpLink } from '../../../lib/mcp/bridge/http-link.ts'
import { Secret } from '../../../lib/util/secret.ts'
import type { InstanceTransport } from './instance-transport.ts'
import { ReadLink } from './read-link.ts'

const connectMs = 5000

interface AddressParts {
  readonly instanceId: string
  /** Its MCP endpoint, on this machine, as its record says now. Throws a `ServiceError`. */
  readonly locate: () => URL
  /**
   * A gateway that lets every caller read must not open an instance that asks for a key: then no key
   * is sent.
   */
  readonly mayUseKey: () => Promise<boolean>
  /** `<registry_dir>/instances` */
  readonly instancesDir: string
}

/** The connections to the instance, with one key or without. */
class Links {
  readonly link: HttpLink
  readonly reads: ReadLink

  constructor(key: Secret | null) {
    this.link = new HttpLink({ key, env: {}, refusesForeign: true })
    this.reads = new ReadLink({ connectMs, key })
  }

  close(): void {
    this.link.close()
    this.reads.close()
  }
}

/** Reaches an instance at its address on this machine, with the key of the gateways of this account. */
export class AddressTransport implements InstanceTransport {
  readonly #parts: AddressParts
  readonly #open: Links
  #keyed: Promise<Links | null> | null = null

  constructor(parts: AddressParts) {
    this.#parts = parts
    this.#open = new Links(null)
  }

  get url(): URL {
    return this.#parts.locate()
  }

  async asker(): Promise<HttpLink> {
    return (await this.#links()).link
  }

  async reads(): Promise<ReadLink> {
    return (await this.#links()).reads
  }

  /** After a 401 the key may be another one. */
  refused(status: number | undefined): void {
    if (status !== 401) return
    this.#closeKeyed()
  }

  close(): void {
    this.#open.close()
    this.#closeKeyed()
  }

  #closeKeyed(): void {
    void this.#keyed?.then(links => links?.close())
    this.#keyed = null
  }

  /** With a key where there is one and it may be used. */
  async #links(): Promise<Links> {
    if (!(await this.#parts.mayUseKey())) return this.#open
    this.#keyed ??= this.#openKeyed()
    return (await this.#keyed) ?? this.#open
  }

  /** Null: the host token is unknown here; the instance may need no key at all. */
  async #openKeyed(): Promise<Links | null> {
    const { instanceId, instancesDir } = this.#parts
    const file = tokenFile(instancesDir, instanceId)
    const token = await readSecretFile(file, 'host token').catch(() => null)
    if (token !== null) return new Links(gatewayKey(new Secret(token)))
    // A missing file may be written later.
    this.#keyed = null
    return null
  }
}
