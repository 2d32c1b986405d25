import crypto from 'node:crypto'
import { once } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import { expect } from 'chai'
import {
  apiKeyPolicy,
  ApiKeyConfig,
  generateApiKey,
  type HeaderSource,
  type McpHttpConfig,
  TokenValidationError,
  unauthorizedResult,
  validateBearerToken,
} from '../../src/index.ts'
import { ask, initializeBody, postHeaders, startServer } from '../helpers/mcp.ts'
import { facts } from './facts.ts'

facts('specification: Resources and their fields, ApiKeyConfig', [
  [
    'all members have defaults: no literal key, SERVICE_MCP_API_KEY, Authorization',
    () => {
      const config = new ApiKeyConfig()
      expect(config.apiKey).to.equal(null)
      expect(config.envVar).to.equal('SERVICE_MCP_API_KEY')
      expect(config.headerName).to.equal('Authorization')
    },
  ],
  [
    'a literal key overrides the environment',
    () => {
      const config = new ApiKeyConfig({ apiKey: 'literal' })
      expect(config.resolve({ SERVICE_MCP_API_KEY: 'from-env' })).to.equal('literal')
    },
  ],
  [
    'without a literal key the named variable is read, at each call',
    () => {
      const config = new ApiKeyConfig({ envVar: 'STUDIO_KEY' })
      const env = { STUDIO_KEY: 'one', SERVICE_MCP_API_KEY: 'other' }
      expect(config.resolve(env)).to.equal('one')
      env.STUDIO_KEY = 'two'
      expect(config.resolve(env)).to.equal('two')
    },
  ],
  [
    'an empty literal key and an empty variable are no keys',
    () => {
      const config = new ApiKeyConfig({ apiKey: '' })
      expect(config.resolve({ SERVICE_MCP_API_KEY: 'from-env' })).to.equal('from-env')
      expect(config.resolve({ SERVICE_MCP_API_KEY: '' })).to.equal(null)
    },
  ],
  [
    'the header name can be chosen and is what carries the Bearer value',
    () => {
      const { headerName } = new ApiKeyConfig({ headerName: 'X-Studio-Key' })
      const headers = { 'x-studio-key': 'Bearer k' }
      expect(validateBearerToken(headers, { expectedToken: 'k', headerName })).to.equal(true)
    },
  ],
])

facts('specification: Authentication, API key; Limits, generate_api_key', [
  [
    'the default length of 32 gives 43 characters of URL-safe base64',
    () => expect(generateApiKey()).to.match(/^[A-Za-z0-9_-]{43}$/),
  ],
  [
    'other lengths follow base64 without padding; what is no length is refused',
    () => {
      expect(generateApiKey(32)).to.have.length(43)
      expect(generateApiKey(48)).to.have.length(64)
      for (const length of [0, 16.5, NaN, 1025]) {
        expect(() => generateApiKey(length)).to.throw(RangeError)
      }
    },
  ],
])

const right = 'Bearer secret'
const bearerTable: [fact: string, headers: HeaderSource, expected: boolean][] = [
  ['the exact value is accepted', { Authorization: right }, true],
  ['the case of the header name does not matter', { aUTHORIZATION: right }, true],
  ['a missing header is refused', {}, false],
  ['another header is refused', { 'X-Key': right }, false],
  ['another scheme is refused', { authorization: 'Basic secret' }, false],
  ['the scheme in another case is refused', { authorization: 'bearer secret' }, false],
  ['the bare token is refused', { authorization: 'secret' }, false],
  ['another value is refused', { authorization: 'Bearer secreT' }, false],
  ['an empty value is refused', { authorization: 'Bearer ' }, false],
  ['a line break after is refused', { authorization: 'Bearer secret\r\n' }, false],
  ['a list of one value is that value', { authorization: [right] }, true],
  ['a repeated header is refused, even the same', { authorization: [right, right] }, false],
  ['values joined as on the wire are refused', { authorization: `${right}, ${right}` }, false],
  [
    'two spellings of the name are one repeated header',
    { authorization: right, AUTHORIZATION: right },
    false,
  ],
  ['a Headers object has headers, too', new Headers({ authorization: right }), true],
  ['a Map in any case has headers, too', new Map([['Authorization', right]]), true],
  [
    'a value that is no text is refused, not thrown at',
    { authorization: 42 as unknown as string },
    false,
  ],
]

facts(
  'specification: Authentication, validate_bearer_token',
  bearerTable.map(([fact, headers, expected]) => [
    fact,
    () => expect(validateBearerToken(headers, { expectedToken: 'secret' })).to.equal(expected),
  ]),
)

/** The lengths that were compared in constant time while `action` ran. */
function comparedLengths(action: () => void): [number, number][] {
  const real = crypto.timingSafeEqual
  const lengths: [number, number][] = []
  crypto.timingSafeEqual = (a, b) => {
    lengths.push([a.byteLength, b.byteLength])
    return real(a, b)
  }
  syncBuiltinESMExports()
  try {
    action()
  } finally {
    crypto.timingSafeEqual = real
    syncBuiltinESMExports()
  }
  return lengths
}

facts('specification: Authentication, validate_bearer_token in constant time', [
  [
    'every value that was sent is compared whole, whatever its length and wherever it differs',
    () => {
      const sent = ['', 'Bearer xecret', 'Bearer secreT', right, 'x'.repeat(9999)]
      const lengths = comparedLengths(() => {
        for (const authorization of sent) {
          validateBearerToken({ authorization }, { expectedToken: 'secret' })
        }
      })
      // Digests, in hex.
      expect(lengths).to.deep.equal(sent.map(() => [64, 64]))
    },
  ],
])

facts('specification: Authentication, failures of the check', [
  [
    'no expected token means that the check is off: true, and a warning is logged',
    () => {
      const warnings: unknown[] = []
      const log = { warn: (...args: unknown[]) => void warnings.push(args) }
      expect(validateBearerToken({}, { expectedToken: null, log })).to.equal(true)
      expect(warnings).to.have.length(1)
    },
  ],
  [
    'without a log the warning is one of the process',
    async () => {
      const warned = once(process, 'warning')
      expect(validateBearerToken({}, { expectedToken: null })).to.equal(true)
      expect((await warned)[0].code).to.equal('SERVICE_AUTH_DISABLED')
    },
  ],
  [
    'an expected token that is empty or undefined is a mistake, not a check that is off',
    () => {
      for (const expectedToken of ['', undefined as unknown as null]) {
        const headers = { authorization: 'Bearer ' }
        expect(() => validateBearerToken(headers, { expectedToken })).to.throw(TypeError)
      }
    },
  ],
  [
    'a handler that receives false has a ready answer: success false and an unauthorized message',
    () => {
      expect(unauthorizedResult()).to.have.property('success', false)
      expect(unauthorizedResult().message).to.match(/unauthorized/)
      expect(unauthorizedResult('no').message).to.equal('no')
    },
  ],
  [
    'TokenValidationError is an exported error type',
    () => {
      const error = new TokenValidationError('expired')
      expect(error).to.be.instanceOf(Error)
      expect(error).to.include({ name: 'TokenValidationError', message: 'expired' })
      const cause = new Error('the clock')
      expect(new TokenValidationError(undefined, { cause })).to.have.property('cause', cause)
      expect(new TokenValidationError().message).not.to.equal('')
    },
  ],
])

async function statusOfInitialize(
  config: McpHttpConfig,
  services: Parameters<typeof startServer>[1],
  headers: Record<string, string> = {},
): Promise<number> {
  const running = await startServer(config, services)
  try {
    const all = { ...postHeaders, ...headers }
    return (await ask(running.url, { method: 'POST', headers: all, body: initializeBody() })).status
  } finally {
    await running.stop()
  }
}

facts('specification: Authentication, enforcement status', [
  [
    'the configuration is no authentication boundary: with a key in the environment it asks for none',
    async () => {
      const before = process.env.SERVICE_MCP_API_KEY
      process.env.SERVICE_MCP_API_KEY = 'k'.repeat(43)
      try {
        expect(await statusOfInitialize({}, {})).to.equal(200)
      } finally {
        if (before === undefined) delete process.env.SERVICE_MCP_API_KEY
        else process.env.SERVICE_MCP_API_KEY = before
      }
    },
  ],
  [
    'a policy handed in is enforced, and takes what validateBearerToken takes',
    async () => {
      const key = generateApiKey()
      const auth = apiKeyPolicy(key)
      expect(await statusOfInitialize({}, { auth })).to.equal(401)
      const headers = { Authorization: `Bearer ${key}` }
      expect(validateBearerToken(headers, { expectedToken: key })).to.equal(true)
      expect(await statusOfInitialize({}, { auth }, headers)).to.equal(200)
    },
  ],
])
