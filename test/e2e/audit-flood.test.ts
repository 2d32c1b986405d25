import { describeAuditFlood } from './audit-flood-suite.ts'

describeAuditFlood(Number(process.env.AUDIT_RECORDS ?? 50_000))
