export const incidentStatuses = ['INVESTIGATING', 'IDENTIFIED', 'MONITORING', 'RESOLVED'] as const;

export type IncidentStatus = (typeof incidentStatuses)[number];

/** Statuses of dashboard incidents. */
export const dashboardStatuses = [...incidentStatuses, 'MAINTENANCE'] as const;

export type DashboardStatus = (typeof dashboardStatuses)[number];

export const incidentSeverities = ['CRITICAL', 'MAJOR', 'MEDIUM', 'MINOR'] as const;

export type IncidentSeverity = (typeof incidentSeverities)[number];

export const dashboardSeverities = ['MAINTENANCE', 'MAJOR', 'MINOR'] as const;

export type DashboardSeverity = (typeof dashboardSeverities)[number];
