import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { loadSdk, Updates } from '../../clients/client-face.ts'
import { serveInProcess } from '../../helpers/in-process-servers.ts'
import { ask } from '../../helpers/mcp.ts'
import { newKey, OpenIdServer, redirectUri } from '../../helpers/openid.ts'
import type { RunningServe } from '../../helpers/serve-process.ts'
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

/** What a client has to keep between the steps; the names are those of the SDK. */
class ClientStore {
  readonly redirectUrl = redirectUri
  /** Addresses that the client wanted opened. */
  readonly opened: URL[] = []
  /** Every token it was given. */
  readonly issued: any[] = []
  #information: unknown
  #verifier = ''
  #discovered: unknown

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

/** A transport of the SDK, with the last step of the login. */
interface LoginTransport {
  finishAuth(code: string | null): Promise<void>
}
type TransportClass = new (url: URL, options: object) => LoginTransport

describe('clients with a provider in front', () => {
  let provider: OpenIdServer
  let serve: RunningServe

  before(async () => {
    provider = await OpenIdServer.start([await newKey('signing')])
    const flags = ['--auth', 'oauth', '--oauth-issuer', provider.issuer]
    serve = await serveInProcess({ flags: [...flags, '--oauth-scope', 'mcp:read'] })
  })

  it('register, log in, subscribe and are told of a change', async () => {
    const { url } = serve
    const sdk = await loadSdk('@modelcontextprotocol/sdk', specifier => import(specifier))
    const Transport = sdk.StreamableHTTPClientTransport as unknown as TransportClass
    const store = new ClientStore()
    const connect = async (transport: LoginTransport) => {
      const client = new sdk.Client({ name: 'agent', version: '1' })
      await client.connect(transport)
      return client
    }
    const first = new Transport(new URL(url), { authProvider: store })
    expect(await connect(first).catch((error: Error) => error)).to.be.an('error')
    expect(store.opened).to.have.lengthOf(1)
    const [address = new URL('about:blank')] = store.opened
    expect(address.searchParams.get('resource')).to.equal(url)
    expect(address.searchParams.get('scope')).to.equal('mcp:read')
    expect(address.searchParams.get('code_challenge_method')).to.equal('S256')
    await first.finishAuth((await authorise(address)).get('code'))
    const client = await connect(new Transport(new URL(url), { authProvider: store }))
    const updates = new Updates(client)
    await client.subscribeResource({ uri: 'scene://current' })
    await serve.post('scene', { shot: 1 })
    await until(() => updates.uris.includes('scene://current'), 'the update')
    const { contents } = await client.readResource({ uri: 'scene://current' })
    expect(JSON.parse(contents[0]?.text ?? '')).to.deep.equal({ shot: 1 })
    const { access_token } = store.tokens()
    const claims = decodeJwt(access_token)
    expect(claims).to.deep.include({ sub: 'ada', aud: url, scope: 'mcp:read' })
    await client.close()
    await until(() => serve.output().stderr.includes('/mcp'), 'the log')
    const { stderr } = serve.output()
    const signature = access_token.slice(access_token.lastIndexOf('.') + 1)
    for (const text of [stderr, ...provider.asked]) {
      expect(text.toLowerCase()).not.to.contain('bearer ey')
      expect(text).not.to.contain(signature)
    }
  })
})
