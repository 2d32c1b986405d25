import { ask } from './mcp.ts'
import { redirectUri } from './openid.ts'

const maxPages = 20

/**
 * A person with a browser: follows the address that a client opened, logs in, agrees, and comes
 * back with what the provider tells the client. Cookies are kept as a browser does.
 */
export async function authorise(address: URL, name = 'ada'): Promise<URLSearchParams> {
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
export class ClientStore {
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
