import { expect } from 'chai'
import { ServiceError } from '../../../src/lib/util/errors.ts'
import { openDatabase } from '../../../src/server/database/database.ts'
import { freePort } from '../../helpers/free-port.ts'

describe('a PostgreSQL database', () => {
  it('that cannot be reached is named without its password', async () => {
    const url = new URL(`postgres://ada:secret@127.0.0.1:${await freePort()}/studio`)
    const { db } = await openDatabase<{ accounts: { id: string } }>({
      dataDir: '',
      url,
      create: true,
    })
    const error = await db
      .selectFrom('accounts')
      .select('id')
      .execute()
      .catch((thrown: unknown) => thrown)
    await db.destroy()
    expect(error).to.be.instanceOf(ServiceError).and.include({ code: 'storage_failed' })
    expect((error as Error).message)
      .to.include(`127.0.0.1:${url.port}/studio`)
      .and.not.include('secret')
  })
})
