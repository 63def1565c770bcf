fz_unit_test(alert_escape fz_alert)
fz_unit_test(alert_event fz_alert)
fz_unit_test(alert_schedule fz_alert)
fz_unit_test(alert_sign fz_alert)
