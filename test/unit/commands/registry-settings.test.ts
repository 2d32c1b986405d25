import { expect } from 'chai'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import {
  readAccountsSettings,
  type AccountsServerFlags,
} from '../../../src/commands/registry/settings.ts'
import { defaultPublicAccountLimits } from '../../../src/server/accounts/limits.ts'
import { givenMembers } from '../../helpers/given-members.ts'

const defaults: AccountsServerFlags = { port: 8780, host: '127.0.0.1' }
const home = join(homedir(), '.local', 'share', 'service-cli', 'registry')

describe('readAccountsSettings', () => {
  it('has nothing optional by default', () => {
    expect(givenMembers(readAccountsSettings(defaults, {}))).to.deep.equal({
      port: 8780,
      host: '127.0.0.1',
      allowedHosts: [],
      allowedOrigins: [],
      dataDir: home,
      limits: {},
    })
  })

  const accepted: [
    flags: Partial<AccountsServerFlags>,
    env: NodeJS.ProcessEnv,
    expected: object,
  ][] = [
    [{}, { XDG_DATA_HOME: '/data' }, { dataDir: '/data/service-cli/registry' }],
    [{}, { XDG_DATA_HOME: 'relative' }, { dataDir: home }],
    [{}, { XDG_DATA_HOME: '' }, { dataDir: home }],
    [{ 'data-dir': 'mine' }, { XDG_DATA_HOME: '/data' }, { dataDir: resolve('mine') }],
    [{ host: '[::1]' }, {}, { host: '::1' }],
    [{ host: '0.0.0.0' }, {}, { host: '0.0.0.0' }],
    [{ registration: 'closed' }, {}, { registration: 'closed' }],
    [{ 'public-url': 'https://r.example' }, {}, { publicUrl: 'https://r.example' }],
    [{ 'allowed-host': ['R.example:80'] }, {}, { allowedHosts: ['r.example:80'] }],
    [{ 'allowed-origin': ['https://A.example'] }, {}, { allowedOrigins: ['https://a.example'] }],
    [
      { limit: ['accessTokenMs=3600000', 'stopGraceMs=5'] },
      {},
      { limits: { accessTokenMs: 3_600_000, stopGraceMs: 5 } },
    ],
  ]
  for (const [flags, env, expected] of accepted) {
    it(`takes ${JSON.stringify(flags)} with ${JSON.stringify(env)}`, () => {
      expect(readAccountsSettings({ ...defaults, ...flags }, env)).to.deep.include(expected)
    })
  }

  const refused: [flags: Partial<AccountsServerFlags>, ...words: string[]][] = [
    [{ host: 'http://x' }, '--host'],
    [{ 'public-url': 'ftp://x' }, '--public-url'],
    [{ 'public-url': 'https://user:secret@x' }, '--public-url'],
    [{ 'data-dir': '' }, '--data-dir'],
    [{ 'allowed-host': ['a b'] }, '--allowed-host'],
    [{ 'allowed-origin': ['x'] }, '--allowed-origin'],
    [{ limit: ['accessTokenMs'] }, 'accessTokenMs=NUMBER'],
    [{ limit: ['accessTokenMs=1'] }, 'accessTokenMs', '1000'],
    [{ limit: ['passwordHashBytes=19922944'] }, 'unknown limit "passwordHashBytes"'],
    [{ limit: ['maxScenes=1'] }, 'maxScenes'],
    // A bound of another server.
    [{ limit: ['maxSessions=1'] }, 'maxSessions'],
  ]
  for (const [flags, ...words] of refused) {
    it(`refuses ${JSON.stringify(flags)}`, () => {
      const attempt = () => readAccountsSettings({ ...defaults, ...flags }, {})
      expect(attempt).to.throw().with.property('code', 'usage_invalid')
      for (const word of words) expect(attempt).to.throw(word)
      expect(attempt).to.not.throw('secret')
    })
  }

  it('takes every bound of accounts', () => {
    for (const [name, value] of Object.entries(defaultPublicAccountLimits)) {
      const { limits } = readAccountsSettings({ ...defaults, limit: [`${name}=${value}`] }, {})
      expect(limits).to.deep.equal({ [name]: value })
    }
  })
})
