fz_unit_test(report fz_report)
fz_unit_test(report_render fz_report PkgConfig::JANSSON)
