import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as v2 from '@modelcontextprotocol/client'
import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { startServe } from '../../../src/server/serve.ts'
import { loadSdk, type Sdk, type SdkClient, Updates } from '../../clients/client-face.ts'
import { ask } from '../../helpers/mcp.ts'
import { newKey, OpenIdServer, redirectUri } from '../../helpers/openid.ts'
import { until } from '../../helpers/until.ts'

const maxPages = 20

/**
 * A person with a browser: follows the address that a client opened, logs in, agrees, and comes
 * back with what the provider tells the client. Cookies are kept as a browser does.
 */
async function authorise(address: URL, name = 'ada'): Promise<URLSearchParams> {
  const cookies = new Map<string, string>()
  let url = address
  let form: URLSearchParams | null = null
  for (let page = 0; page < maxPages; page++) {
    if (url.href.startsWith(redirectUri)) return url.searchParams
    const answer = await ask(url.href, {
      method: form === null ? 'GET' : 'POST',
      headers: {
        Cookie: Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; '),
        ...(form !== null && { 'Content-Type': 'application/x-www-form-urlencoded' }),
      },
      ...(form !== null && { body: form.toString() }),
    })
    form = null
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    const { location } = answer.headers
    if (location !== undefined) {
      url = new URL(location, url)
      continue
    }
    const action = / action="([^"]+)"/.exec(answer.text)?.[1]
    const prompt = /name="prompt" value="(\w+)"/.exec(answer.text)?.[1]
    if (action === undefined || prompt === undefined) {
      throw new Error(`${url.pathname}: ${answer.status} ${answer.text}`)
    }
    url = new URL(action, url)
    form = new URLSearchParams({ prompt, login: name, password: 'anything' })
  }
  throw new Error(`the login did not end within ${maxPages} pages`)
}

/** What a client has to keep between the steps; the names are those of the SDKs. */
class ClientStore {
  readonly redirectUrl = redirectUri
  /** Addresses that the client wanted opened. */
  readonly opened: URL[] = []
  /** Every token it was given. */
  readonly issued: any[] = []
  #information: unknown
  #verifier = ''
  #discovered: unknown

  /** Without an id the client has to register. */
  constructor(issuer: string, clientId?: string) {
    this.#information = clientId === undefined ? undefined : { client_id: clientId, issuer }
  }

  get clientMetadata() {
    return {
      client_name: 'an agent of the tests',
      redirect_uris: [redirectUri],
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: 'ES256',
    }
  }

  clientInformation() {
    return this.#information
  }
  saveClientInformation(information: unknown) {
    this.#information = information
  }
  tokens() {
    return this.issued.at(-1)
  }
  saveTokens(tokens: unknown) {
    this.issued.push(tokens)
  }
  redirectToAuthorization(url: URL) {
    this.opened.push(url)
  }
  saveDiscoveryState(state: unknown) {
    this.#discovered = state
  }
  discoveryState() {
    return this.#discovered
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier
  }
  codeVerifier() {
    return this.#verifier
  }
}

/** A transport as both SDKs have it, with the last step of the login. */
interface LoginTransport {
  finishAuth(answer: unknown): Promise<void>
}

describe('clients with a provider in front', () => {
  let provider: OpenIdServer
  let folder: string
  let serving: Awaited<ReturnType<typeof startServe>>
  /** Everything the server wrote. */
  const written: string[] = []
  const issued: string[] = []

  before(async () => {
    provider = await OpenIdServer.start([await newKey('signing')])
    folder = await mkdtemp(join(tmpdir(), 'oauth-clients-'))
    const write = (...parts: unknown[]) => void written.push(JSON.stringify(parts))
    serving = await startServe({
      port: 0,
      host: '127.0.0.1',
      allowedHosts: [],
      allowedOrigins: [],
      registryDir: folder,
      auth: { mode: 'oauth', issuer: provider.issuer, requiredScope: 'mcp:read' },
      log: { debug: write, info: write, warn: write, error: write },
      accessLog: write,
      dccType: 'blender',
      artefacts: true,
      resources: true,
    })
  })

  after(async () => {
    await serving?.stop()
    await provider?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  async function setScene(scene: object): Promise<void> {
    const token = (await readFile(serving.hostTokenFile ?? '', 'utf8')).trim()
    const answer = await ask(`${serving.hostUrl}/v1/scene`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      body: JSON.stringify(scene),
    })
    expect(answer.status, answer.text).to.equal(200)
  }

  interface Face {
    readonly Client: Sdk['Client']
    readonly Transport: new (url: URL, options: object) => LoginTransport
    readonly options?: object
    /** Of the address that the provider sent the person back to. */
    readonly answer: (callback: URLSearchParams) => unknown
  }

  /** Refused first, sent to the provider, logged in, and connected by the token it got. */
  async function login(face: Face, url: string, store: ClientStore): Promise<SdkClient> {
    const info = { name: 'agent', version: '1' }
    const options = { authProvider: store }
    const first = new face.Transport(new URL(url), options)
    const refused = await new face.Client(info, face.options).connect(first).then(
      () => null,
      (error: Error) => error,
    )
    expect(refused).to.be.an('error')
    expect(store.opened, String(refused)).to.have.lengthOf(1)
    const [address = new URL('about:blank')] = store.opened
    expect(address.searchParams.get('resource')).to.equal(url)
    // SDK v2 asks for a refresh token beside it, as far as the provider has them.
    expect(address.searchParams.get('scope')).to.match(/^mcp:read( offline_access)?$/)
    expect(address.searchParams.get('code_challenge_method')).to.equal('S256')
    await first.finishAuth(face.answer(await authorise(address)))
    issued.push(store.tokens().access_token)
    const client = new face.Client(info, face.options)
    await client.connect(new face.Transport(new URL(url), options))
    return client
  }

  it('SDK v1 register, log in, subscribe and are told of a change', async () => {
    const sdk = await loadSdk('@modelcontextprotocol/sdk', specifier => import(specifier))
    const face: Face = {
      Client: sdk.Client,
      Transport: sdk.StreamableHTTPClientTransport as unknown as Face['Transport'],
      answer: callback => callback.get('code'),
    }
    const store = new ClientStore(provider.issuer)
    const client = await login(face, serving.url, store)
    const updates = new Updates(client)
    await client.subscribeResource({ uri: 'scene://current' })
    await setScene({ shot: 1 })
    await until(() => updates.uris.includes('scene://current'), 'the update')
    const { contents } = await client.readResource({ uri: 'scene://current' })
    expect(JSON.parse(contents[0]?.text ?? '')).to.deep.equal({ shot: 1 })
    const claims = decodeJwt(store.tokens().access_token)
    expect(claims).to.deep.include({ sub: 'ada', aud: serving.url, scope: 'mcp:read' })
    await client.close()
  })

  it('SDK v2 with an id log in and listen in the stateless transport', async () => {
    const face: Face = {
      Client: v2.Client as unknown as Sdk['Client'],
      Transport: v2.StreamableHTTPClientTransport as unknown as Face['Transport'],
      options: { versionNegotiation: { mode: { pin: '2026-07-28' } } },
      answer: callback => callback,
    }
    const client = (await login(
      face,
      serving.url,
      new ClientStore(provider.issuer, 'known-agent'),
    )) as v2.Client & SdkClient
    const updates = new Updates(client)
    const listening = await client.listen({ resourceSubscriptions: ['scene://current'] })
    await setScene({ stateless: true })
    await until(() => updates.uris.includes('scene://current'), 'the update')
    await listening.close()
    await client.close()
  })

  it('find their tokens in no log and in no request to the provider', () => {
    expect(issued).to.have.lengthOf(2)
    expect(written.join('\n')).to.contain('/mcp')
    for (const text of [...written, ...provider.asked]) {
      expect(text.toLowerCase()).not.to.contain('bearer ey')
      for (const token of issued) {
        expect(text).not.to.contain(token.slice(token.lastIndexOf('.') + 1))
      }
    }
  })
})
