import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { expect } from 'chai'
import {
  apiKeyPolicy,
  ApiKeyConfig,
  generateApiKey,
  type HeaderSource,
  TokenValidationError,
  unauthorizedResult,
  validateBearerToken,
} from '../../src/index.ts'
import { withEnv } from '../helpers/in-process.ts'
import { bearer } from '../helpers/keyed-server.ts'
import { initialize, startServer } from '../helpers/mcp.ts'

describe('ApiKeyConfig', () => {
  it('has defaults: no literal key, SERVICE_MCP_API_KEY, Authorization', () => {
    const config = new ApiKeyConfig()
    expect(config.apiKey).to.equal(null)
    expect(config.envVar).to.equal('SERVICE_MCP_API_KEY')
    expect(config.headerName).to.equal('Authorization')
  })

  it('resolves a literal key before the environment; an empty one is none', () => {
    const env = { SERVICE_MCP_API_KEY: 'from-env' }
    expect(new ApiKeyConfig({ apiKey: 'literal' }).resolve(env)).to.equal('literal')
    expect(new ApiKeyConfig({ apiKey: '' }).resolve(env)).to.equal('from-env')
  })

  it('reads the named variable at each call', () => {
    const config = new ApiKeyConfig({ envVar: 'STUDIO_KEY' })
    const env = { STUDIO_KEY: 'one', SERVICE_MCP_API_KEY: 'other' }
    expect(config.resolve(env)).to.equal('one')
    env.STUDIO_KEY = 'two'
    expect(config.resolve(env)).to.equal('two')
  })

  it('resolves to null with neither, and with an empty variable', () => {
    expect(new ApiKeyConfig().resolve({})).to.equal(null)
    expect(new ApiKeyConfig().resolve({ SERVICE_MCP_API_KEY: '' })).to.equal(null)
  })

  it('names the header that carries the Bearer value', () => {
    const { headerName } = new ApiKeyConfig({ headerName: 'X-Studio-Key' })
    const headers = { 'x-studio-key': 'Bearer k' }
    expect(validateBearerToken(headers, { expectedToken: 'k', headerName })).to.equal(true)
  })
})

describe('generateApiKey', () => {
  it('gives 43 random characters of URL-safe base64, or those of another length', () => {
    const keys = new Set(Array.from({ length: 1000 }, () => generateApiKey()))
    expect(keys.size).to.equal(1000)
    for (const key of keys) expect(key).to.match(/^[A-Za-z0-9_-]{43}$/)
    expect(generateApiKey(32)).to.have.length(43)
    expect(generateApiKey(48)).to.have.length(64)
  })
})

describe('validateBearerToken', () => {
  const right = 'Bearer secret'
  const table: [what: string, headers: HeaderSource, expected: boolean][] = [
    ['the exact value', { Authorization: right }, true],
    ['another case of the header name', { aUTHORIZATION: right }, true],
    ['a list of one value', { authorization: [right] }, true],
    ['a Headers object', new Headers({ authorization: right }), true],
    ['a Map in any case', new Map([['Authorization', right]]), true],
    ['a missing header', {}, false],
    ['another scheme', { authorization: 'Basic secret' }, false],
    ['the scheme in another case', { authorization: 'bearer secret' }, false],
    ['the bare token', { authorization: 'secret' }, false],
    ['a prefix of the value', { authorization: 'Bearer secre' }, false],
    ['a longer value', { authorization: 'Bearer secret2' }, false],
    ['a second space', { authorization: 'Bearer  secret' }, false],
    ['a line break after it', { authorization: 'Bearer secret\r\n' }, false],
    ['a repeated header, even the same', { authorization: [right, right] }, false],
    ['values joined as on the wire', { authorization: `${right}, ${right}` }, false],
    ['two spellings of the name', { authorization: right, AUTHORIZATION: right }, false],
    ['what an object inherits', Object.create({ authorization: right }), false],
    ['a value that is no text', { authorization: 42 as unknown as string }, false],
  ]
  for (const [what, headers, expected] of table) {
    it(`${expected ? 'accepts' : 'refuses'} ${what}`, () => {
      expect(validateBearerToken(headers, { expectedToken: 'secret' })).to.equal(expected)
    })
  }

  it('compares digests in constant time, whatever was sent', () => {
    const sent = ['', 'Basic secret', 'Bearer xecret', 'Bearer secreT', right, 'x'.repeat(9999)]
    const real = crypto.timingSafeEqual
    const lengths: number[] = []
    crypto.timingSafeEqual = (a, b) => {
      lengths.push(a.byteLength, b.byteLength)
      return real(a, b)
    }
    syncBuiltinESMExports()
    try {
      for (const authorization of sent) {
        validateBearerToken({ authorization }, { expectedToken: 'secret' })
      }
    } finally {
      crypto.timingSafeEqual = real
      syncBuiltinESMExports()
    }
    // In hex.
    expect(lengths).to.deep.equal(sent.flatMap(() => [64, 64]))
  })

  it('is off without an expected token: true, and a warning is logged', () => {
    const warnings: unknown[] = []
    const log = { warn: (...args: unknown[]) => void warnings.push(args) }
    expect(validateBearerToken({}, { expectedToken: 'k', log })).to.equal(false)
    expect(warnings).to.have.length(0)
    expect(validateBearerToken({}, { expectedToken: null, log })).to.equal(true)
    expect(warnings).to.have.length(1)
  })

  it('throws for an expected token that is empty or undefined', () => {
    for (const expectedToken of ['', undefined as unknown as null]) {
      const headers = { authorization: 'Bearer ' }
      expect(() => validateBearerToken(headers, { expectedToken })).to.throw(TypeError)
    }
  })
})

describe('the answer to an unauthorized caller', () => {
  it('has success false and a message', () => {
    expect(unauthorizedResult()).to.have.property('success', false)
    expect(unauthorizedResult().message).to.match(/unauthorized/)
  })

  it('can be a TokenValidationError', () => {
    const cause = new Error('the clock')
    const error = new TokenValidationError('expired', { cause })
    expect(error).to.be.instanceOf(Error)
    expect(error).to.include({ name: 'TokenValidationError', message: 'expired', cause })
    expect(new TokenValidationError().message).not.to.equal('')
  })
})

describe('enforcement on /mcp', () => {
  async function statuses(services: Parameters<typeof startServer>[1], keys: (string | null)[]) {
    const running = await startServer({}, services)
    const answers = keys.map(key => initialize(running.url, key === null ? {} : bearer(key)))
    const all = (await Promise.all(answers)).map(({ status }) => status)
    await running.stop()
    return all
  }

  it('does not come from the configuration, nor from a key in the environment', () =>
    withEnv({ ...process.env, SERVICE_MCP_API_KEY: 'k'.repeat(43) }, async () =>
      expect(await statuses({}, [null])).to.deep.equal([200]),
    ))

  it('comes from a policy that is handed in', async () => {
    const key = generateApiKey()
    expect(await statuses({ auth: apiKeyPolicy(key) }, [null, key])).to.deep.equal([401, 200])
  })
})
