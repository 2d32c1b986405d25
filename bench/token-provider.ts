import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

/** What an OAuth provider is to a resource server: its description, its key set, its tokens. */
export interface TokenProvider {
  readonly issuer: string
  readonly audience: string
  /** An access token (RFC 9068) of one subject and client; no two are equal. */
  readonly issue: () => Promise<string>
  close(): Promise<void>
}

const kid = 'bench'
const audience = 'https://bench.example/mcp'

export async function startTokenProvider(): Promise<TokenProvider> {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const keys = [{ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' }]
  let issuer = ''
  const server = createServer((request, response) => {
    const isKeys = request.url === '/keys'
    const body = isKeys ? { keys } : { issuer, jwks_uri: `${issuer}/keys` }
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    issuer,
    audience,
    issue: () =>
      new SignJWT({ client_id: 'bench', scope: 'read' })
        .setProtectedHeader({ alg: 'ES256', kid, typ: 'at+jwt' })
        .setIssuer(issuer)
        .setSubject('reader')
        .setAudience(audience)
        .setJti(crypto.randomUUID())
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(privateKey),
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
