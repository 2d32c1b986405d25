/** What the operator can do with the data of an accounts server. */
export { readAudit } from './audit.ts'
export { backUp } from './backup.ts'
export { makeInvite, makeResetCode } from './codes.ts'
export { openAdmin } from './open-admin.ts'
export { rotateKeys } from './signing-keys.ts'
export { deleteUser, disableUser, enableUser, listUsers, setTeam, findAccount } from './users.ts'
