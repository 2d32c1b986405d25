import { describeAuditFlood } from '../e2e/audit-flood-suite.ts'

describeAuditFlood(Number(process.env.AUDIT_RECORDS ?? 1_000_000))
