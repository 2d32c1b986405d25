import { expect } from 'chai'
import type { AccountTables } from '../../src/server/accounts/schema.ts'
import { AccountStore } from '../../src/server/accounts/store.ts'
import { openDatabase } from '../../src/server/database/database.ts'
import { parseDatabaseUrl } from '../../src/server/database/settings.ts'
import { describeAccountStore } from '../unit/accounts/account-store-suite.ts'
import { makePair } from '../helpers/certificate.ts'
import { failureOf } from '../helpers/failure.ts'
import { freePort } from '../helpers/free-port.ts'
import { until } from '../helpers/until.ts'
import { type Postgres, startPostgres } from './postgres.ts'

async function open(url: string, create = true): Promise<AccountStore> {
  const settings = { dataDir: '/nowhere', url: parseDatabaseUrl(url, 'the test'), create }
  return AccountStore.open(await openDatabase<AccountTables>(settings), create)
}

describe('accounts in PostgreSQL', () => {
  let postgres: Postgres
  before(async function () {
    postgres = await startPostgres(this)
  })

  describeAccountStore('PostgreSQL', async () => open(await postgres.schema()))

  it('are made once by servers that start at the same time', async () => {
    const url = await postgres.schema()
    const stores = await Promise.all([1, 2, 3, 4].map(() => open(url)))
    expect(stores.filter(store => store.isNew)).to.have.length(1)
    for (const store of stores) await store.close()
  })

  it('are refused, and not changed, when a newer version made them', async () => {
    const url = await postgres.schema()
    await (await open(url)).close()
    await postgres.run('UPDATE accounts_server SET version = 99', url)
    const failure = await failureOf(() => open(url))
    expect(failure.code).to.equal('storage_failed')
    expect(failure.message).to.contain('another version')
    const rows = await postgres.run('SELECT version FROM accounts_server', url)
    expect(rows).to.deep.equal([{ version: 99 }])
  })

  it('are not made by a command of the operator', async () => {
    const url = await postgres.schema()
    const failure = await failureOf(() => open(url, false))
    expect(failure.message).to.contain('there is no accounts server in 127.0.0.1')
    const store = await open(url)
    expect(store.isNew).to.equal(true)
    await store.close()
  })

  it('are there again after an outage', async () => {
    const store = await open(await postgres.schema())
    postgres.stop('immediate')
    const failure = await failureOf(() => store.listAccounts())
    expect(failure.code).to.equal('storage_failed')
    postgres.start()
    await until(() => store.listAccounts().then(Boolean, () => false), 'an answer')
    await store.close()
  })

  it('are reached over TLS only with a certificate that is verified', async () => {
    const pair = makePair({ names: ['127.0.0.1'] })
    const file = await postgres.useTls(pair)
    const url = await postgres.schema()
    await until(async () => {
      const store = await open(`${url}&sslmode=verify-full&sslrootcert=${file}`).catch(() => null)
      await store?.close()
      return store !== null
    }, 'a connection')
    const failure = await failureOf(() => open(`${url}&sslmode=verify-full`))
    expect(failure.message).to.match(/self.signed/)
  })

  it('name what is wrong with the address, and no password', async () => {
    const word = 'not-to-be-shown'
    const failing = async (url: string) => {
      const { code, message, hint } = await failureOf(() => open(url))
      expect(code).to.equal('storage_failed')
      expect(message + String(hint)).not.to.contain(word)
      return message
    }
    await postgres.run(`CREATE ROLE closed LOGIN PASSWORD 'right'`)
    await postgres.requirePassword('closed')
    const url = (user: string) => postgres.url().replace('//app@', `//${user}@`)
    expect(await failing(url(`closed:${word}`))).to.contain('password authentication failed')
    expect(await failing(url('closed'))).to.contain('password must be a string')
    expect(await failing(postgres.url().replace('/postgres', '/none'))).to.contain('does not exist')
    const port = await freePort()
    expect(await failing(`postgres://app:${word}@127.0.0.1:${port}/x`)).to.contain('ECONNREFUSED')
    expect(await failing(`${postgres.url()}?sslmode=verify-full&sslrootcert=/none`)).to.contain(
      '/none',
    )
  })
})
