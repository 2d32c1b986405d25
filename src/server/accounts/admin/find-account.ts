import { cleanText } from '../../../lib/util/clean-text.ts'
import { ServiceError } from '../../../lib/util/errors.ts'
import type { AccountRow } from '../account-store.ts'
import { foldLogin } from '../names.ts'
import type { Admin } from './open-admin.ts'

/** By user name or email address, as for a login. Throws `request_refused` when there is none. */
export async function findAccount({ store }: Admin, name: string): Promise<AccountRow> {
  const account = await store.findAccount(foldLogin(name))
  if (account !== null) return account
  throw new ServiceError('request_refused', `there is no account "${cleanText(name, 100)}"`, {
    hint: 'service-cli registry users list shows them',
  })
}

/** Every account, in the order of the names; a page at a time. */
export async function* everyAccount({ store }: Admin, after = ''): AsyncGenerator<AccountRow> {
  // Ends: each page begins behind the last one.
  for (;;) {
    const page = await store.listAccounts({ after, limit: pageRows })
    yield* page
    const last = page.at(-1)
    if (last === undefined || page.length < pageRows) return
    after = last.usernameKey
  }
}

const pageRows = 200
