import { type Answer, ask } from './mcp.ts'

export const password = 'a long and honest phrase'
const prefix = '/api/v1/auth'

/** Calls of the registry API as people's programs make them. */
export function createCaller(url: string) {
  function call(method: string, path: string, token?: string, body?: unknown): Promise<Answer> {
    return ask(url + prefix + path, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  async function good(answer: Promise<Answer>): Promise<any> {
    const { status, text, json } = await answer
    if (status >= 300) throw new Error(`HTTP ${status} ${text}`)
    return json
  }

  return {
    call,
    /** The status with the code of the problem, as in `401 token-revoked`. */
    async me(token: string): Promise<string> {
      const { status, json } = await call('GET', '/me', token)
      return status === 200 ? '200' : `${status} ${json?.code}`
    },
    login: (username: string, secret = password) =>
      call('POST', '/login', undefined, { username, password: secret }),
    refresh: (refresh_token: string) => call('POST', '/refresh', undefined, { refresh_token }),
    register: (username: string) =>
      good(
        call('POST', '/register', undefined, {
          username,
          email: `${username}@studio.example`,
          password,
        }),
      ),
    makeToken: async (token: string) =>
      (await good(call('POST', '/tokens', token, { name: 'ci' }))).token as string,
  }
}
