export const incidentStatuses = ['INVESTIGATING', 'IDENTIFIED', 'MONITORING', 'RESOLVED'] as const;

export type IncidentStatus = (typeof incidentStatuses)[number];

/** Of incidents of a dashboard. */
export const dashboardStatuses = [...incidentStatuses, 'MAINTENANCE'] as const;

export type DashboardStatus = (typeof dashboardStatuses)[number];

export const incidentSeverities = ['CRITICAL', 'MAJOR', 'MEDIUM', 'MINOR'] as const;

export type IncidentSeverity = (typeof incidentSeverities)[number];

export const dashboardSeverities = ['MAINTENANCE', 'MAJOR', 'MINOR'] as const;

export type DashboardSeverity = (typeof dashboardSeverities)[number];
